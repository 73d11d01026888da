// As root too: root has more to keep from a command.
/** `isolation: "compat"`: exactly the flags of old, and the record shows it; still nothing survives. */

import { spawnSync } from "node:child_process";
import { readlinkSync } from "node:fs";
import { expect, test } from "vitest";

import { makeScene, type Scene } from "../promises/probed-host.js";
import { describeSurvival } from "../promises/survival.js";
import {
  BubblewrapNativeRunner,
  buildBubblewrapArgv,
  LocalNativeRunner,
} from "../support/package.js";
import { describeSandboxed, isRoot, plainEnvironment } from "../support/requirements.js";
import { run } from "../support/results.js";
import { tempDirectory } from "../support/temp.js";

const kStrictOnly = [
  "user-namespace",
  "pid-namespace",
  "ipc-namespace",
  "uts-namespace",
  "cgroup-namespace",
  "no-capabilities",
  "read-only-root",
  "tree-kill:pid-namespace",
];

describeSandboxed("isolation", () => {
  const layersOf = async (isolation: "strict" | "compat", network: "allow" | "deny") => {
    const runner = new BubblewrapNativeRunner({ shadowDir: tempDirectory(), isolation, network });
    return (await run(runner, ["true"])).result.audits[0]?.layers ?? [];
  };

  test("strict is the default, and has them all", async () => {
    const layers = await layersOf("strict", "deny");
    expect(layers).toEqual(
      expect.arrayContaining([...kStrictOnly, "mount-namespace", "network-namespace"]),
    );
    expect(layers).toEqual(expect.arrayContaining(["no-new-privs", "seccomp"]));
    expect(layers.includes("secrets-masked")).toBe(isRoot);
    const { stdout } = spawnSync("bwrap", ["--help"], {
      encoding: "utf8",
      env: plainEnvironment(),
    });
    expect(layers.includes("userns-disabled")).toBe(stdout.includes("--disable-userns"));
    const runner = new BubblewrapNativeRunner({ shadowDir: tempDirectory() });
    expect((await run(runner, ["true"])).result.audits[0]?.layers).toEqual(layers);
  });

  test("strict has a user namespace of its own, and no capability that could be regained", async () => {
    const show = "readlink /proc/self/ns/user; grep CapBnd /proc/self/status";
    const shadowDir = tempDirectory();
    const strict = await run(new BubblewrapNativeRunner({ shadowDir }), show);
    const local = await run(new LocalNativeRunner({ shadowDir }), show);
    const [inside, bounding] = strict.out.split("\n");
    expect(local.out.split("\n")[0]).toBe(readlinkSync("/proc/self/ns/user"));
    expect(inside).toMatch(/^user:\[\d+\]$/);
    expect(inside).not.toBe(local.out.split("\n")[0]);
    expect(bounding).toBe("CapBnd:\t0000000000000000");
    expect(local.out).not.toContain(String(bounding));
  });

  test("compat says that it has less", async () => {
    const layers = await layersOf("compat", "deny");
    expect(layers.filter((layer) => kStrictOnly.includes(layer))).toEqual([]);
    expect(layers).toEqual(
      expect.arrayContaining(["mount-namespace", "network-namespace", "tree-kill:subreaper"]),
    );
  });

  test.each(["strict", "compat"] as const)("%s with the network says so", async (isolation) => {
    expect(await layersOf(isolation, "allow")).not.toContain("network-namespace");
  });

  test("compat uses the flags of old, in their order", async () => {
    const shadowDir = tempDirectory();
    const runner = new BubblewrapNativeRunner({ shadowDir, isolation: "compat" });
    const { args } = await runner.explain({ argv: ["ls", "-l"], cwd: "a" });
    const head = ["--die-with-parent", "--new-session", "--unshare-net"];
    expect(args.slice(0, 9)).toEqual([
      ...head,
      "--proc",
      "/proc",
      "--dev",
      "/dev",
      "--tmpfs",
      "/tmp",
    ]);
    const tail = ["--bind", shadowDir, "/workspace", "--chdir", "/workspace/a", "--", "ls", "-l"];
    expect(args.slice(-tail.length)).toEqual(tail);
    expect(args.filter((arg) => /^--(unshare-(?!net)|cap|disable|as-pid)/.test(arg))).toEqual([]);
  });

  test("the builder's command line works with a real bwrap", async () => {
    const shadowDir = tempDirectory();
    const commandArgv = ["sh", "-c", "pwd; echo x > file; ls /", "--"];
    const { cmd, args } = buildBubblewrapArgv({
      bwrapPath: "bwrap",
      shadowDir,
      commandArgv,
      network: "deny",
    });
    const local = new LocalNativeRunner({ shadowDir });
    const seen = await run(local, [cmd, ...args]);
    expect(seen.out.split("\n")).toEqual(
      expect.arrayContaining(["/workspace", "workspace", "usr"]),
    );
    expect((await run(local, ["cat", "file"])).out).toBe("x");
  });
});

for (const [label, makeRunner] of [
  ["compat", (shadowDir: string) => new BubblewrapNativeRunner({ shadowDir, isolation: "compat" })],
  ["LocalNativeRunner", (shadowDir: string) => new LocalNativeRunner({ shadowDir })],
] as const) {
  describeSandboxed(label, () => {
    let scene: Scene | undefined;
    const made = (): Scene => {
      scene ??= makeScene();
      return scene;
    };
    describeSurvival(made, ({ shadowDir }) => makeRunner(shadowDir));
  });
}
