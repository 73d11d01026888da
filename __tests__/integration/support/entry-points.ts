/** Every place at which the package takes an object: with nothing wrong, and how one is misspelled. */

import { NodeSkillEngine } from "../../../lib/skills/engines/node.js";
import { SkillWorkers } from "../../../lib/skills/workers.js";
import {
  applyProcessSandbox,
  availableRuntimes,
  BubblewrapNativeRunner,
  Bwrap,
  buildBubblewrapArgv,
  buildConfigForSkill,
  checkShellCommand,
  createBubblewrapProcessSandbox,
  createRuntime,
  FirejailNativeRunner,
  LandlockNativeRunner,
  LocalNativeRunner,
  runSandboxed,
  sandboxFromEnv,
  WasmSkillExecutor,
} from "./package.js";

/** What the entry points need of the host. */
export type Host = {
  shadowDir: string;
  /** A .wasm file that answers. */
  skill: string;
};

export type EntryPoint = {
  title: string;
  /** What the message calls the object. */
  place: string;
  /** Nothing is wrong with it. */
  right: object;
  /** A field that is not there, and the one that is meant. */
  misspelled: [name: string, meant: string];
  call(given: never): unknown;
};

/** Puts the object that is looked at into one that has it. */
const inside = (point: EntryPoint, place: string, wrap: (given: never) => object): EntryPoint => ({
  ...point,
  place,
  call: (given) => point.call(wrap(given) as never),
});

function runnerPoints({ shadowDir }: Host): EntryPoint[] {
  const right = { shadowDir };
  const made = (
    Runner: new (options: never) => unknown,
    misspelled: [string, string],
  ): EntryPoint => ({
    title: Runner.name,
    place: "options",
    right,
    misspelled,
    call: (options) => new Runner(options),
  });
  return [
    made(BubblewrapNativeRunner, ["allowWriteWorkspce", "allowWriteWorkspace"]),
    made(BubblewrapNativeRunner, ["require", "required"]),
    made(LandlockNativeRunner, ["fs_read_dirs", "fsReadDirs"]),
    made(FirejailNativeRunner, ["netwrok", "network"]),
    made(LocalNativeRunner, ["envpolicy", "envPolicy"]),
    {
      title: "buildBubblewrapArgv",
      place: "options",
      right: { bwrapPath: "bwrap", shadowDir, commandArgv: ["ls"], network: "deny" },
      misspelled: ["roBind", "roBinds"],
      call: buildBubblewrapArgv,
    },
  ];
}

function runPoints({ shadowDir }: Host): EntryPoint[] {
  const runner = new BubblewrapNativeRunner({ shadowDir });
  const local = new LocalNativeRunner({ shadowDir });
  const exec: EntryPoint = {
    title: "exec",
    place: "input",
    right: { argv: ["true"] },
    misspelled: ["timeoutMs", "limits.timeoutMs"],
    call: (input) => local.exec(input),
  };
  const spawn: EntryPoint = {
    ...exec,
    title: "spawn",
    misspelled: ["ptty", "pty"],
    call: (input) => local.spawn(input).then((process) => process.stop()),
  };
  const openSession: EntryPoint = {
    title: "openSession",
    place: "options",
    right: {},
    misspelled: ["shel", "shell"],
    call: (options) => runner.openSession(options).then((session) => session.close()),
  };
  const limits = { right: {}, misspelled: ["memory", "memoryBytes"] as [string, string] };
  return [
    exec,
    inside({ ...exec, ...limits, title: "exec limits" }, "limits", (given) => ({
      argv: ["true"],
      limits: given,
    })),
    { ...exec, title: "exec in a sandbox", call: (input) => runner.exec(input) },
    { ...exec, title: "explain", call: (input) => runner.explain(input) },
    spawn,
    inside({ ...spawn, ...limits, title: "spawn limits" }, "limits", (given) => ({
      argv: ["true"],
      limits: given,
    })),
    inside(
      {
        ...spawn,
        title: "spawn pty",
        right: { cols: 80, rows: 24 },
        misspelled: ["col", "cols"],
      },
      "pty",
      (given) => ({ argv: ["true"], pty: given }),
    ),
    openSession,
    {
      title: "session.exec",
      place: "input",
      right: { argv: ["true"] },
      misspelled: ["stdinn", "stdin"],
      call: async (input) => {
        await using session = await runner.openSession();
        await session.exec(input);
      },
    },
    {
      title: "session.start",
      place: "input",
      right: { argv: ["true"] },
      misspelled: ["argvs", "argv"],
      call: async (input) => {
        await using session = await runner.openSession();
        await session.start(input).then((process) => process.stop());
      },
    },
    {
      title: "execBatch",
      place: "options",
      right: {},
      misspelled: ["stopOnErr", "stopOnError"],
      call: (options) => runner.execBatch([["true"]], options),
    },
    inside(
      { ...exec, title: "execBatch commands", call: (command) => runner.execBatch([command]) },
      "input",
      (given) => given,
    ),
    {
      title: "resize",
      place: "size",
      right: { cols: 80, rows: 24 },
      misspelled: ["row", "rows"],
      call: async (size) => {
        const pty = { cols: 1, rows: 1 };
        await using process = await local.spawn({ argv: ["sleep", "1000"], pty });
        process.resize(size);
      },
    },
  ];
}

function processSandboxPoints(): EntryPoint[] {
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
      right: { shadowDir: "/" },
      misspelled: ["mount", "mounts"],
      call: async (options) => (await sandboxFromEnv({})).runner(options),
    },
  ];
}

function runtimePoints({ shadowDir }: Host): EntryPoint[] {
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

function projectPoints({ shadowDir }: Host): EntryPoint[] {
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

function skillPoints({ skill }: Host): EntryPoint[] {
  const right = { manifest: { name: "echo" }, wasmPath: skill, trustTier: "verified" } as const;
  const executor = new WasmSkillExecutor({ environment: {} });
  const config = buildConfigForSkill(skill, "{}", "untrusted");
  const engine = new NodeSkillEngine(new SkillWorkers(1));
  const execute: EntryPoint = {
    title: "skill",
    place: "skill",
    right,
    misspelled: ["trusttier", "trustTier"],
    call: (given) => executor.execute(given, "{}"),
  };
  const limits = { right: {}, misspelled: ["maxMemory", "maxMemoryBytes"] as [string, string] };
  return [
    {
      title: "WasmSkillExecutor",
      place: "options",
      right: {},
      misspelled: ["strictLimit", "strictLimits"],
      call: (options) => new WasmSkillExecutor(options),
    },
    execute,
    inside(
      {
        ...execute,
        title: "skill manifest",
        right: right.manifest,
        misspelled: ["versoin", "version"],
      },
      "manifest",
      (manifest) => ({ ...right, manifest }),
    ),
    inside(
      { ...execute, ...limits, title: "skill limits" },
      "resourceLimits",
      (resourceLimits) => ({
        ...right,
        resourceLimits,
      }),
    ),
    {
      title: "execute options",
      place: "options",
      right: {},
      misspelled: ["signl", "signal"],
      call: (options) => executor.execute(right, "{}", options),
    },
    {
      title: "runSandboxed",
      place: "options",
      right: { engine, environment: {} },
      misspelled: ["runTime", "runtime"],
      call: (options) => runSandboxed(config, options),
    },
    {
      title: "runSandboxed config",
      place: "config",
      right: config,
      misspelled: ["allowNetwrk", "allowNetwork"],
      call: (given) => runSandboxed(given, { engine, environment: {} }),
    },
    {
      ...limits,
      title: "buildConfigForSkill",
      place: "resourceLimits",
      call: (given) => buildConfigForSkill(skill, "{}", "verified", given),
    },
  ];
}

export const entryPoints = (host: Host): EntryPoint[] => [
  ...runnerPoints(host),
  ...runPoints(host),
  ...processSandboxPoints(),
  ...runtimePoints(host),
  ...projectPoints(host),
  ...skillPoints(host),
];
