// As root too: root may open what a user may not.
/** Whatever a command plants in the workspace, `runner.files` stays inside it and waits for nothing. */

import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

import { BubblewrapNativeRunner, LocalNativeRunner } from "../support/package.js";
import { describeSandboxed, isRoot } from "../support/requirements.js";
import { run } from "../support/results.js";
import { tempDirectory } from "../support/temp.js";
import { codeOf } from "./refusal.js";

/** A workspace, and a secret beside it that links lead to. */
function scene() {
  const base = tempDirectory("hostile-files");
  const shadowDir = join(base, "workspace-of-run");
  const secret = join(base, "secret");
  const local = new LocalNativeRunner({ shadowDir: base });
  return {
    base,
    shadowDir,
    secret,
    make: async () => {
      await local.files.mkdir("workspace-of-run");
      await local.files.mkdir("outside");
      writeFileSync(secret, "secret");
      writeFileSync(join(base, "outside/file"), "secret");
      return new BubblewrapNativeRunner({ shadowDir });
    },
  };
}

describeSandboxed("files, and links that a command made", () => {
  // Each leads out for node:fs, which is the control.
  const kLinks: [string, (base: string) => string, string][] = [
    ["an absolute link", (base) => `ln -s ${base}/outside/file link`, "link"],
    ["a relative link", () => "ln -s ../outside/file link", "link"],
    ["a link to a directory", (base) => `ln -s ${base}/outside link`, "link/file"],
    ["a relative link to a directory", () => "ln -s ../outside link", "link/file"],
    ["a link in the middle", () => "mkdir -p a/b; ln -s ../../../outside a/b/c", "a/b/c/file"],
    ["a chain of links", () => "ln -s ../outside one; ln -s one two; ln -s two link", "link/file"],
    ["a link through /proc", (base) => `ln -s /proc/self/root${base}/outside link`, "link/file"],
    ["a link to the directory above", () => "ln -s .. link", "link/outside/file"],
  ];

  test.each(kLinks)("%s leads nowhere", async (_, script, path) => {
    const { base, shadowDir, secret, make } = scene();
    const runner = await make();
    const { files } = runner;
    expect((await run(runner, script(base))).exitCode).toBe(0);
    expect(readFileSync(join(shadowDir, path), "utf8")).toBe("secret");
    expect(await codeOf(files.read(path))).toBe("ELOOP");
    expect(await codeOf(files.readText(path))).toBe("ELOOP");
    expect(await codeOf(files.write(path, "overwritten"))).toBe("ELOOP");
    expect(await codeOf(files.list(`${path}/`))).toBe("ELOOP");
    if (path.includes("/")) {
      expect(await codeOf(files.stat(path))).toBe("ELOOP");
      expect(await codeOf(files.remove(path))).toBe("ELOOP");
      expect(await codeOf(files.write(`${path}-new`, ""))).toBe("ELOOP");
      expect(await codeOf(files.mkdir(`${path}-new`, { recursive: true }))).toBe("ELOOP");
      expect(await codeOf(files.rename(path, "stolen"))).toBe("ELOOP");
    } else {
      expect(await files.stat(path)).toMatchObject({ type: "symlink" });
    }
    for (const { path: each } of await files.list(""))
      await files.remove(each, { recursive: true });
    expect(await files.list("")).toEqual([]);
    expect(readFileSync(secret, "utf8")).toBe("secret");
    expect(readFileSync(join(base, "outside/file"), "utf8")).toBe("secret");
  });

  test("a link is listed, removed and renamed itself", async () => {
    const { shadowDir, make } = scene();
    const runner = await make();
    await run(runner, "ln -s ../outside link; ln -s nowhere dangling");
    expect(await runner.files.list("", { recursive: true })).toEqual([
      { path: "dangling", type: "symlink" },
      { path: "link", type: "symlink" },
    ]);
    await runner.files.rename("link", "moved");
    await runner.files.remove("dangling");
    expect(await runner.files.list("")).toEqual([{ path: "moved", type: "symlink" }]);
    expect(readFileSync(join(shadowDir, "moved/file"), "utf8")).toBe("secret");
  });

  // A command swaps a directory and a link to another as fast as it can.
  test("a link that is swapped in leads nowhere", async () => {
    const { base, shadowDir, make } = scene();
    const runner = await make();
    await runner.files.mkdir("d");
    await runner.files.write("d/file", "inside");
    const script = `
      import ctypes, os
      os.symlink("../outside", "l")
      rename = ctypes.CDLL(None).renameat2
      print("go", flush=True)
      while True: rename(-100, b"d", -100, b"l", 2)`;
    const swapper = await runner.spawn({ argv: ["python3", "-c", script.replace(/^ {6}/gm, "")] });
    await once(swapper.stdout, "data");
    const seen: Record<string, number> = {};
    const note = (what: string) => {
      seen[what] = (seen[what] ?? 0) + 1;
    };
    const expected = ["ELOOP", "inside", "node:fs: inside", "node:fs: secret", "written"];
    const isMissing = () => expected.some((what) => seen[what] === undefined);
    // On a busy machine the command may not run for a while.
    const until = Date.now() + 20_000;
    for (let i = 0; i < 1500 || (isMissing() && Date.now() < until); i += 1) {
      await runner.files.readText("d/file").then(note, ({ code }) => note(code));
      await runner.files.write("d/new", "x").then(
        () => note("written"),
        ({ code }) => note(code),
      );
      await runner.files.mkdir(`d/made${i}/x`, { recursive: true }).catch(() => {});
      await runner.files.remove("d/new").catch(() => {});
      try {
        note(`node:fs: ${readFileSync(join(shadowDir, "d/file"), "utf8")}`);
      } catch {}
    }
    await swapper.stop();
    expect(Object.keys(seen).sort()).toEqual(expected.sort());
    const { files } = new LocalNativeRunner({ shadowDir: base });
    expect(await files.list("outside")).toEqual([{ path: "outside/file", type: "file" }]);
    expect(await files.readText("outside/file")).toBe("secret");
  });

  test("a file is opened only where it is one", async () => {
    const runner = await scene().make();
    await run(
      runner,
      "mkfifo fifo; mkdir d; mkfifo d/fifo; python3 -c 'import socket as s; s.socket(s.AF_UNIX).bind(\"socket\")'",
    );
    for (const path of ["fifo", "d/fifo", "socket"]) {
      expect(await codeOf(runner.files.read(path))).toBe("ENXIO");
      expect(await codeOf(runner.files.write(path, ""))).toBe("ENXIO");
      expect(await runner.files.stat(path)).toMatchObject({ type: "other" });
    }
    await runner.files.remove("d", { recursive: true });
    await runner.files.remove("fifo");
    await runner.files.write("fifo", "now it is one");
    expect(await runner.files.readText("fifo")).toBe("now it is one");
  });

  test("what a command does to modes and depths does not keep the host from removing it", async () => {
    const runner = await scene().make();
    const script = `
      import os
      os.mkdir("deep"); os.chdir("deep")
      for i in range(1500):
        os.mkdir("d" * 20); os.chdir("d" * 20)
      open("end", "w").close(); os.chmod(".", 0)`;
    const built = await run(runner, ["python3", "-c", script.replace(/^ {6}/gm, "")]);
    expect(built).toMatchObject({ exitCode: 0, err: "" });
    if (isRoot) expect(await runner.files.list("deep", { recursive: true })).toHaveLength(1501);
    else expect(await codeOf(runner.files.list("deep", { recursive: true }))).toBe("EACCES");
    expect(await codeOf(runner.files.remove("deep"))).toBe("ENOTEMPTY");
    await runner.files.remove("deep", { recursive: true });
    expect(await runner.files.list("")).toEqual([]);
  });

  test("paths longer than the kernel takes at once work", async () => {
    const runner = await scene().make();
    const path = `${`${"p".repeat(200)}/`.repeat(40)}file`;
    await runner.files.mkdir(path.slice(0, -5), { recursive: true });
    await runner.files.write(path, "text");
    expect(await runner.files.readText(path)).toBe("text");
    expect((await runner.files.list("", { recursive: true })).at(-1)).toEqual({
      path,
      type: "file",
    });
    expect(() => readFileSync(join(runner.shadowDir, path))).toThrow("ENAMETOOLONG");
    await runner.files.remove("p".repeat(200), { recursive: true }); // node:fs can't
  });
});

describe("files, and devices", () => {
  test("none is opened", async () => {
    const { files } = new LocalNativeRunner({ shadowDir: "/dev" });
    for (const path of ["null", "zero", "full"]) {
      expect(await codeOf(files.read(path))).toBe("ENXIO");
      expect(await codeOf(files.write(path, ""))).toBe("ENXIO");
    }
  });
});
