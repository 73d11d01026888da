// As root too: root has more to keep from a command.
/** Where mounts may stand, and what is left of that on the host: nothing. */

import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";

import { eventually } from "../../support/waits.js";
import { kPlace, kWays, mounting, tree } from "../support/mounts.js";
import { BubblewrapNativeRunner, type NativeMount } from "../support/package.js";
import { describeSandboxed, isRoot, testUnless } from "../support/requirements.js";
import { run } from "../support/results.js";
import { tempDirectory } from "../support/temp.js";

describeSandboxed("the place of a mount", () => {
  test.each(kWays)("that is not there is made for %s, and gone with it", async (_, way) => {
    const shadowDir = tempDirectory("work", kPlace);
    const hostPath = tree({ file: "x\n" });
    const outer = tree();
    const mounts: NativeMount[] = [
      { hostPath, guestPath: "/workspace/vendor", mode: "ro" },
      { hostPath: join(hostPath, "file"), guestPath: "/workspace/one", mode: "ro" },
      { hostPath: outer, guestPath: "/data", mode: "rw" },
      { hostPath, guestPath: "/data/inner", mode: "ro" },
    ];
    const script = "ls; cat vendor/file one /data/inner/file; rmdir vendor 2>/dev/null; ls";
    expect(await way(mounts, script, { shadowDir })).toBe("one\nvendor\nx\nx\nx\none\nvendor\n");
    await eventually("nothing is left", () =>
      [shadowDir, outer].every((directory) => readdirSync(directory).length === 0),
    );
  });

  test("that is there stays, with what is in it", async () => {
    const shadowDir = tree({ "vendor/mine": "mine", one: "mine", "empty/": "" });
    chmodSync(join(shadowDir, "empty"), 0o700);
    const hostPath = tree({ file: "x" });
    const mounts: NativeMount[] = [
      { hostPath, guestPath: "/workspace/vendor", mode: "rw" },
      { hostPath, guestPath: "/workspace/empty", mode: "rw" },
      { hostPath: join(hostPath, "file"), guestPath: "/workspace/one", mode: "rw" },
    ];
    const seen = await run(mounting(mounts, { shadowDir }), "ls vendor empty; cat one");
    expect(seen.out).toBe("empty:\nfile\n\nvendor:\nfile\nx");
    expect(readdirSync(shadowDir).sort()).toEqual(["empty", "one", "vendor"]);
    expect(readdirSync(join(shadowDir, "vendor"))).toEqual(["mine"]);
    expect(statSync(join(shadowDir, "empty")).mode & 0o7777).toBe(0o700);
  });

  test("stays as long as one of several runs needs it", async () => {
    const shadowDir = tempDirectory("work", kPlace);
    const hostPath = tree({ file: "x\n" });
    const runner = mounting([{ hostPath, guestPath: "/workspace/vendor", mode: "ro" }], {
      shadowDir,
    });
    const runs = Array.from({ length: 12 }, (_, i) =>
      run(runner, `sleep 0.${i % 4}; cat vendor/file`),
    );
    for (const { out, err } of await Promise.all(runs)) expect([out, err]).toEqual(["x", ""]);
    expect(readdirSync(shadowDir)).toEqual([]);
  });

  test("is not made by explain", async () => {
    const shadowDir = tempDirectory("work", kPlace);
    const runner = mounting([{ hostPath: "/usr", guestPath: "/workspace/vendor", mode: "ro" }], {
      shadowDir,
    });
    const { args } = await runner.explain({ argv: ["true"] });
    expect(args).toContain("/workspace/vendor");
    expect(readdirSync(shadowDir)).toEqual([]);
  });

  test("that a command takes away is made again, and is gone at the end", async () => {
    const shadowDir = tree({ "sub/": "" });
    const hostPath = tree({ file: "x" });
    const mounts: NativeMount[] = [{ hostPath, guestPath: "/workspace/sub/vendor", mode: "ro" }];
    const runner = mounting(mounts, { shadowDir });
    expect((await run(runner, "mv sub moved; cat moved/vendor/file")).out).toBe("x");
    expect(readdirSync(join(shadowDir, "moved"))).toEqual([]);
    const missing = await run(runner, "true");
    expect(missing).toMatchObject({ kind: "setup-failed", exitCode: 125 });
    expect(missing.err).toContain("mounts[0].guestPath");
    renameSync(join(shadowDir, "moved"), join(shadowDir, "sub"));
    expect((await run(runner, "cat sub/vendor/file")).out).toBe("x");
  });

  const kOutside = join(kPlace, `native-runner-outside-${process.pid}`);

  // bwrap follows links, from a root in which it sees the host's.
  test.each([
    ["its last part", "ln -s TARGET vendor", "/workspace/vendor"],
    ["a directory above it", "ln -s TARGET sub", "/workspace/sub/vendor"],
    ["a link within", "mkdir real; ln -s real sub", "/workspace/sub/vendor"],
  ])("is not taken along a symbolic link that a command made: %s", async (_, script, guestPath) => {
    mkdirSync(kOutside, { recursive: true });
    try {
      const shadowDir = tempDirectory("work", kPlace);
      const hostPath = tree({ file: "x" });
      for (const target of [kOutside, `/oldroot${kOutside}`, `/newroot${kOutside}`]) {
        await run(mounting([], { shadowDir }), script.replace("TARGET", target));
        const seen = await run(
          mounting([{ hostPath, guestPath, mode: "ro" }], { shadowDir }),
          "ls",
        );
        expect(seen).toMatchObject({ kind: "setup-failed", out: "" });
        expect(seen.err).toMatch(/mounts\[0\]\.guestPath .* it is a symbolic link/);
        expect(readdirSync(kOutside)).toEqual([]);
        for (const name of readdirSync(shadowDir))
          rmSync(join(shadowDir, name), { recursive: true });
      }
      mkdirSync(join(shadowDir, "sub"));
      const control = mounting([{ hostPath, guestPath, mode: "ro" }], { shadowDir });
      expect((await run(control, `cat ${guestPath}/file`)).out).toBe("x");
    } finally {
      rmSync(kOutside, { recursive: true });
    }
  });

  const kImpossible: [string, (shadowDir: string) => NativeMount[], RegExp][] = [
    [
      "a directory on a file",
      () => [{ hostPath: "/usr", guestPath: "/workspace/file", mode: "ro" }],
      /it is no directory/,
    ],
    [
      "a file on a directory",
      () => [{ hostPath: "/etc/passwd", guestPath: "/workspace/dir", mode: "ro" }],
      /it is a directory/,
    ],
    [
      "more than one missing directory",
      () => [{ hostPath: "/usr", guestPath: "/workspace/a/b", mode: "ro" }],
      /\/a" on the host: No such file/,
    ],
    [
      "nothing in a read-only bind",
      () => [{ hostPath: "/etc", guestPath: "/usr/no-such-place", mode: "ro" }],
      /"\/usr\/no-such-place" on the host: No such file/,
    ],
    [
      "nothing in a read-only mount",
      (shadowDir) => [
        { hostPath: join(shadowDir, "dir"), guestPath: "/d", mode: "ro" },
        { hostPath: "/etc", guestPath: "/d/new", mode: "ro" },
      ],
      /mounts\[1\]\.guestPath .* No such file/,
    ],
    [
      "a place in a file",
      (shadowDir) => [
        { hostPath: join(shadowDir, "file"), guestPath: "/d", mode: "rw" },
        { hostPath: "/etc", guestPath: "/d/new", mode: "ro" },
      ],
      /mounts\[1\]\.guestPath/,
    ],
  ];
  test.each(kImpossible)("is a set-up failure for %s", async (_, mounts, message) => {
    const shadowDir = tree({ file: "x", "dir/": "" });
    const seen = await run(mounting(mounts(shadowDir), { shadowDir }), ["true"]);
    expect(seen).toMatchObject({ kind: "setup-failed", exitCode: 125 });
    expect(seen.err).toMatch(message);
    expect(readdirSync(shadowDir).sort()).toEqual(["dir", "file"]);
    expect(readdirSync(join(shadowDir, "dir"))).toEqual([]);
  });

  testUnless(isRoot ? "root may write everywhere" : undefined, "that can't be made", async () => {
    const shadowDir = tempDirectory("work", kPlace);
    const runner = mounting([{ hostPath: "/usr", guestPath: "/workspace/sub", mode: "ro" }], {
      shadowDir: "/usr",
    });
    const seen = await run(runner, ["true"]);
    expect(seen.err).toMatch(/mounts\[0\]\.guestPath .*nothing can be made there/);
    expect(existsSync(join(shadowDir, "sub"))).toBe(false);
  });
});

describeSandboxed("what a mount shows", () => {
  test("must be there when a run starts, and not before", async () => {
    const root = tree();
    const hostPath = join(root, "later");
    const runner = mounting([
      { hostPath: "/usr", guestPath: "/fine", mode: "ro" },
      { hostPath, guestPath: "/data", mode: "ro", label: "the cache" },
    ]);
    const missing = await run(runner, ["true"]);
    expect(missing).toMatchObject({ kind: "setup-failed", exitCode: 125, out: "" });
    expect(missing.err).toContain(`mounts[1].hostPath ("the cache") names "${hostPath}"`);
    await expect(runner.openSession()).rejects.toThrow(hostPath);
    await expect(runner.explain({ argv: ["true"] })).rejects.toThrow(hostPath);
    writeFileSync(hostPath, "here");
    expect((await run(runner, "cat /data")).out).toBe("here");
  });

  test("is no FIFO, socket or device, also behind a link", async () => {
    const root = tree({ file: "x" });
    spawnSync("mkfifo", [join(root, "fifo")]);
    const server = createServer().listen(join(root, "socket"));
    const cases: [string, RegExp][] = [
      [join(root, "fifo"), /is a FIFO/],
      [join(root, "socket"), /is a socket/],
      ["/dev/null", /is a device/],
    ];
    try {
      for (const [path, message] of cases) {
        const link = join(root, "link");
        symlinkSync(path, link);
        for (const hostPath of [path, link]) {
          const seen = await run(mounting([{ hostPath, guestPath: "/x", mode: "ro" }]), ["true"]);
          expect(seen.kind).toBe("setup-failed");
          expect(seen.err).toMatch(message);
        }
        rmSync(link);
      }
    } finally {
      server.close();
    }
    const control = mounting([{ hostPath: join(root, "file"), guestPath: "/x", mode: "ro" }]);
    expect((await run(control, "cat /x")).out).toBe("x");
  });

  test.each(["/proc", "/proc/self", "/sys"])("is %s read-only, or not at all", async (hostPath) => {
    const seen = await run(mounting([{ hostPath, guestPath: "/x", mode: "rw" }]), ["true"]);
    expect(seen.err).toMatch(/is the kernel's own/);
    const control = mounting([{ hostPath, guestPath: "/x", mode: "ro" }]);
    expect(await run(control, "ls /x")).toMatchObject({ exitCode: 0 });
  });
});

describeSandboxed("mounts that are no such thing are misuse", () => {
  const good = { hostPath: "/srv", guestPath: "/data", mode: "ro" };
  const kWrong: [string, unknown, RegExp][] = [
    ["no array", {}, /`mounts` to be an array of objects/],
    ["no object", [null], /`mounts\[0\]` to be an object/],
    ["a list", [[]], /`mounts\[0\]` to be an object/],
    ["no host path", [{ mode: "ro" }], /`mounts\[0\]\.hostPath` to be a string/],
    ["a number", [{ ...good, hostPath: 7 }], /`mounts\[0\]\.hostPath` to be a string/],
    ["a relative path", [{ ...good, hostPath: "srv" }], /`mounts\[0\]\.hostPath` .* absolute/],
    ["NUL", [good, { ...good, guestPath: "/a\0b" }], /`mounts\[1\]\.guestPath` .* NUL/],
    ["..", [{ ...good, guestPath: "/a/../proc" }], /`mounts\[0\]\.guestPath` .* '\.\.'/],
    ["no mode", [{ hostPath: "/srv" }], /`mounts\[0\]\.mode` to be "ro" or "rw"/],
    ["another mode", [{ ...good, mode: "rwx" }], /`mounts\[0\]\.mode` to be "ro" or "rw"/],
    ["a label of NUL", [{ ...good, label: "\0" }], /`mounts\[0\]\.label`/],
    ["an unknown field", [{ ...good, hostpath: "/x" }], /"hostpath" in `mounts\[0\]`.*`hostPath`/],
    ["one place twice", [good, { ...good, hostPath: "/usr" }], /`mounts\[1\]\.guestPath`/],
    ["the root", [{ hostPath: "/", mode: "ro" }], /`mounts\[0\]\.guestPath`.*\/workspace/],
    ["the workspace", [{ ...good, guestPath: "//workspace/." }], /not hide \/workspace/],
    ["/proc", [{ ...good, guestPath: "/proc/" }], /\/proc/],
    ["in /dev", [{ ...good, guestPath: "/dev/shm" }], /\/dev/],
    ["257", Array.from({ length: 257 }, (_, i) => ({ ...good, guestPath: `/m/${i}` })), /256/],
  ];
  test.each(kWrong)("%s", (_, mounts, message) => {
    const make = (given: unknown) => () =>
      new BubblewrapNativeRunner({ shadowDir: "/nowhere", mounts: given as NativeMount[] });
    expect(make(mounts)).toThrow(TypeError);
    expect(make(mounts)).toThrow(message);
    expect(make([good])).not.toThrow();
  });
});
