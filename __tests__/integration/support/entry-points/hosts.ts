/** What host applications use: process sandboxes, runtimes, projects. */

import {
  applyProcessSandbox,
  availableRuntimes,
  Bwrap,
  checkShellCommand,
  createBubblewrapProcessSandbox,
  createRuntime,
  sandboxFromEnv,
} from "../package.js";
import { type EntryPoint, type Host, inside } from "./entry-point.js";

export function processSandboxPoints(): EntryPoint[] {
  const mount = { kind: "dir", hostPath: "/usr", guestPath: "/u", mode: "ro" };
  const command = { cmd: "ls", args: [], env: {} };
  const sandbox = createBubblewrapProcessSandbox({ network: "deny" });
  const wrap: EntryPoint = {
    title: "wrap",
    place: "command",
    right: command,
    misspelled: ["mount", "mounts"],
    call: (given) => sandbox.wrap(given),
  };
  const apply: EntryPoint = {
    title: "applyProcessSandbox",
    place: "options",
    right: { command },
    misspelled: ["sandBoxx", "sandbox"],
    call: (options) => applyProcessSandbox(options),
  };
  const mounts = { right: mount, misspelled: ["hostpath", "hostPath"] as [string, string] };
  return [
    {
      title: "createBubblewrapProcessSandbox",
      place: "options",
      right: {},
      misspelled: ["netwrok", "network"],
      call: createBubblewrapProcessSandbox,
    },
    wrap,
    inside({ ...wrap, ...mounts, title: "wrap mounts" }, "mounts[0]", (given) => ({
      ...command,
      mounts: [given],
    })),
    apply,
    inside(
      {
        ...apply,
        title: "applyProcessSandbox command",
        right: command,
        misspelled: ["arg", "args"],
      },
      "command",
      (given) => ({ command: given }),
    ),
    inside({ ...apply, ...mounts, title: "applyProcessSandbox mounts" }, "mounts[0]", (given) => ({
      command: { ...command, mounts: [given] },
    })),
    {
      title: "sandboxFromEnv",
      place: "options",
      right: {},
      misspelled: ["wran", "warn"],
      call: (options) => sandboxFromEnv({}, options),
    },
    {
      title: "sandboxFromEnv runner",
      place: "options",
      right: { shadowDir: "/srv" },
      misspelled: ["mount", "mounts"],
      call: async (options) => (await sandboxFromEnv({})).runner(options),
    },
  ];
}

export function runtimePoints({ shadowDir }: Host): EntryPoint[] {
  const config = { runtimeType: "native" } as const;
  const quiet = { environment: {}, warn: () => {} };
  const native = () => createRuntime(config, quiet);
  const points: EntryPoint[] = [
    {
      title: "createRuntime",
      place: "options",
      right: quiet,
      misspelled: ["env", "environment"],
      call: (options) => createRuntime(config, options),
    },
    {
      title: "availableRuntimes",
      place: "options",
      right: quiet,
      misspelled: ["warns", "warn"],
      call: (options) => availableRuntimes({}, options),
    },
    {
      title: "runtime.isAvailable",
      place: "options",
      right: {},
      misspelled: ["refesh", "refresh"],
      call: async (options) => (await native()).isAvailable(options),
    },
    {
      title: "runtime.runner",
      place: "options",
      right: { shadowDir },
      misspelled: ["shadowdir", "shadowDir"],
      call: async (options) => (await native()).runner(options),
    },
    {
      title: "runtime.execute",
      place: "options",
      right: { workdir: shadowDir },
      misspelled: ["timeoutMs", "timeoutSecs"],
      call: async (options) => (await native()).execute("true", options),
    },
    {
      title: "runtime.execute mounts",
      place: "mounts[0]",
      right: { hostPath: shadowDir, mode: "rw" },
      misspelled: ["guestpath", "guestPath"],
      call: async (mount) =>
        (await native()).execute("true", { workdir: shadowDir, mounts: [mount] }),
    },
    {
      title: "checkShellCommand",
      place: "policy",
      right: {},
      misspelled: ["shellAllowList", "shellAllowlist"],
      call: (policy) => checkShellCommand("true", policy),
    },
  ];
  return points;
}

export function projectPoints({ shadowDir }: Host): EntryPoint[] {
  const bwrap = (options: object) => new Bwrap(shadowDir, [], false, options);
  return [
    {
      title: "Bwrap",
      place: "options",
      right: {},
      misspelled: ["readonly", "readOnly"],
      call: bwrap,
    },
    {
      title: "Bwrap limits",
      place: "limits",
      right: {},
      misspelled: ["memory", "memoryBytes"],
      call: (limits) => bwrap({ limits }),
    },
    {
      title: "Bwrap network",
      place: "network",
      right: { allow: [] },
      misspelled: ["allowed", "allow"],
      call: (network) => bwrap({ network }),
    },
    {
      title: "Bwrap folders",
      place: "project",
      right: { path: shadowDir },
      misspelled: ["paths", "path"],
      call: (folder) => new Bwrap(folder),
    },
    {
      title: "Bwrap.exec",
      place: "options",
      right: {},
      misspelled: ["singal", "signal"],
      call: (options) => bwrap({}).exec("true", options),
    },
  ];
}
