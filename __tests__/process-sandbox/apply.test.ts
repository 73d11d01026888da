import { describe, expect, it } from "vitest";

import {
  applyProcessSandbox,
  type ProcessSandbox,
  type ProcessSandboxCommand,
} from "../../lib/index.js";

const command: ProcessSandboxCommand = {
  cmd: "wasmtime",
  args: ["run", "--dir=/home/me/shadow", "/home/me/shadow/a.wasm", "/home/me/shadowy"],
  env: { A: "1" },
  cwd: "/home/me",
  mounts: [
    { kind: "dir", label: "outer", hostPath: "/home/me", guestPath: "/me", mode: "ro" },
    { kind: "dir", hostPath: "/home/me/shadow/", guestPath: "/workspace", mode: "rw" },
  ],
};

/** A host's own sandbox, which leaves out what it does not change. */
const sandbox: ProcessSandbox = {
  name: "cage",
  wrap: ({ cmd, args }) => ({ cmd: "/opt/cage", args: ["--", cmd, ...args] }),
};

describe("applyProcessSandbox", () => {
  it("gives the command itself without a sandbox, and no audit", () => {
    const applied = applyProcessSandbox({ command });
    expect(applied).toEqual({ spawn: command });
    expect(applied.spawn).toBe(command);
  });

  it("keeps the command's env and cwd where the sandbox says nothing of them", () => {
    const { spawn } = applyProcessSandbox({ sandbox, command });
    expect(spawn).toEqual({
      cmd: "/opt/cage",
      args: ["--", "wasmtime", ...command.args],
      env: { A: "1" },
      cwd: "/home/me",
    });
  });

  it("lets the sandbox change them", () => {
    const changing = {
      ...sandbox,
      wrap: () => ({ cmd: "c", args: [], env: { B: "2" }, cwd: "/" }),
    };
    const { spawn } = applyProcessSandbox({ sandbox: changing, command });
    expect(spawn).toEqual({ cmd: "c", args: [], env: { B: "2" }, cwd: "/" });
  });

  it("records without host paths, the longest first, and changes no real argument", () => {
    const before = structuredClone(command);
    const { spawn, audit } = applyProcessSandbox({ sandbox, command });
    expect(audit).toEqual({
      kind: "process-sandbox",
      wrapperName: "cage",
      wrappedCmd: "/opt/cage",
      wrappedArgs: [
        "--",
        "wasmtime",
        "run",
        "--dir=<redacted>",
        "<redacted>/a.wasm",
        "<redacted>/shadowy",
      ],
      mounts: [
        { label: "outer", guestPath: "/me", mode: "ro" },
        { guestPath: "/workspace", mode: "rw" },
      ],
    });
    expect(JSON.parse(JSON.stringify(audit))).toEqual(audit);
    expect(spawn.args).toContain("/home/me/shadow/a.wasm");
    expect(command).toEqual(before);
  });

  it("hides further paths when they are named, and none when told so", () => {
    const args = ["/srv/x/y", "/srv/xy", "a/srv/x"];
    const wrapped = (redactHostPaths: boolean | string[]) =>
      applyProcessSandbox({ sandbox, command: { cmd: "c", args, env: {} }, redactHostPaths }).audit
        ?.wrappedArgs;
    expect(wrapped(["/srv/x", "/"])).toEqual(["--", "c", "<redacted>/y", "/srv/xy", "a<redacted>"]);
    expect(wrapped(["/srv//x/./"])).toEqual(["--", "c", "<redacted>/y", "/srv/xy", "a<redacted>"]);
    expect(wrapped(true)).toEqual(["--", "c", ...args]);
    expect(applyProcessSandbox({ sandbox, command, redactHostPaths: false }).audit).toMatchObject({
      wrappedArgs: ["--", "wasmtime", ...command.args],
    });
  });

  it.each([
    [undefined, /`options`/],
    [{}, /`command`/],
    [{ command, sandbox: {} }, /`sandbox`/],
    [{ command, sandbox, redactHostPaths: "yes" }, /`redactHostPaths`/],
  ])("misuse %#: a TypeError that names it", (options, message) => {
    const call = () => applyProcessSandbox(options as Parameters<typeof applyProcessSandbox>[0]);
    expect(call).toThrow(TypeError);
    expect(call).toThrow(message);
  });
});
