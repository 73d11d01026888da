/** What `runner.files` refuses, and how it says so. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

import { kEngine } from "../other-hosts/this-engine.js";
import { LocalNativeRunner, type WorkspaceFiles } from "../support/package.js";
import { tempDirectory } from "../support/temp.js";
import { codeOf, refusalOf } from "./refusal.js";

function made(): { directory: string; files: WorkspaceFiles } {
  const directory = tempDirectory("files");
  return { directory, files: new LocalNativeRunner({ shadowDir: directory }).files };
}

describe("files refuse", () => {
  test.each(["..", "../x", "/..", "a/../../x", "/workspace/..", "workspace/../x"])(
    "%j leaves the workspace",
    async (path) => {
      const { directory, files } = made();
      writeFileSync(join(directory, "x"), "x");
      const calls = {
        read: () => files.read(path),
        readText: () => files.readText(path),
        write: () => files.write(path, ""),
        list: () => files.list(path),
        stat: () => files.stat(path),
        mkdir: () => files.mkdir(path),
        from: () => files.rename(path, "y"),
        to: () => files.rename("x", path),
        remove: () => files.remove(path, { recursive: true }),
      };
      for (const [name, call] of Object.entries(calls)) {
        const refusal = await refusalOf(call());
        expect(refusal, name).toMatchObject({ name: "TypeError", code: "ERR_INVALID_ARG_VALUE" });
        expect(refusal?.message).toContain(name === "from" || name === "to" ? name : "path");
      }
      expect(await files.readText("x")).toBe("x");
    },
  );

  test.each([undefined, null, 1, {}, [], "a\0b", new Uint8Array([97, 0]), new Uint16Array(1)])(
    "%j is no path",
    async (path) => {
      const { files } = made();
      const wrong = path as string;
      const calls = [
        () => files.read(wrong),
        () => files.write(wrong, ""),
        () => files.stat(wrong),
        () => files.rename("a", wrong),
      ];
      for (const call of calls) {
        expect((await refusalOf(call()))?.name).toBe("TypeError");
      }
    },
  );

  test.each([
    ["read", (files: WorkspaceFiles) => files.read("f", { maxBytes: -1 }), "RangeError"],
    ["read", (files: WorkspaceFiles) => files.read("f", { maxBytes: 2 ** 31 }), "RangeError"],
    ["read", (files: WorkspaceFiles) => files.read("f", { maxBytes: "9" as never }), "TypeError"],
    ["read", (files: WorkspaceFiles) => files.read("f", null as never), "TypeError"],
    [
      "readText",
      (files: WorkspaceFiles) => files.readText("f", { fatal: 1 as never }),
      "TypeError",
    ],
    ["write", (files: WorkspaceFiles) => files.write("f", 7 as never), "TypeError"],
    ["write", (files: WorkspaceFiles) => files.write("f", "", { mode: 0o1777 }), "RangeError"],
    ["write", (files: WorkspaceFiles) => files.write("f", "", { ifUnchanged: "x" }), "TypeError"],
    [
      "write",
      (files: WorkspaceFiles) => files.write("f", "", { ifUnchanged: 1 as never }),
      "TypeError",
    ],
    ["write", (files: WorkspaceFiles) => files.write("f", "", { flush: 1 as never }), "TypeError"],
    ["list", (files: WorkspaceFiles) => files.list("", { maxEntries: 0 }), "RangeError"],
    ["list", (files: WorkspaceFiles) => files.list("", { recursive: 1 as never }), "TypeError"],
    ["mkdir", (files: WorkspaceFiles) => files.mkdir("d", { mode: 1.5 }), "RangeError"],
  ])("%s refuses a wrong value (%#)", async (_, call, name) => {
    const { files } = made();
    await files.write("f", "kept");
    expect((await refusalOf(call(files)))?.name).toBe(name);
    expect(await files.readText("f")).toBe("kept");
    expect(await files.list("")).toHaveLength(1);
  });

  test("errors are as those of node:fs", async () => {
    const { files } = made();
    await files.mkdir("d/e", { recursive: true });
    await files.write("f", "");
    expect(await refusalOf(files.read("./none"))).toMatchObject({
      code: "ENOENT",
      errno: -2,
      syscall: "open",
      path: "./none",
      message: "ENOENT: no such file or directory, open './none'",
    });
    expect(await refusalOf(files.rename("none", "x"))).toMatchObject({
      code: "ENOENT",
      syscall: "rename",
      path: "none",
      dest: "x",
      message: "ENOENT: no such file or directory, rename 'none' -> 'x'",
    });
    expect(await codeOf(files.read("d"))).toBe("EISDIR");
    expect(await codeOf(files.write("d", ""))).toBe("EISDIR");
    expect(await codeOf(files.write("", ""))).toBe("EISDIR");
    expect(await codeOf(files.read("f/x"))).toBe("ENOTDIR");
    expect(await codeOf(files.list("f"))).toBe("ENOTDIR");
    expect(await codeOf(files.mkdir("d"))).toBe("EEXIST");
    expect(await codeOf(files.mkdir("x/y"))).toBe("ENOENT");
    expect(await codeOf(files.remove("d"))).toBe("ENOTEMPTY");
    expect(await codeOf(files.remove(""))).toBe("EBUSY");
    expect(await codeOf(files.read("n".repeat(256)))).toBe("ENAMETOOLONG");
    await files.read("none").catch(({ stack }: Error) => {
      if (kEngine !== "Bun") expect(stack).toContain("files-wrong-values.test.ts"); // who called is reported
    });
  });
});
