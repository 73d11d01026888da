// As root too: root may open what a user may not.
/** `runner.files`: what it does, in every runner that has a workspace. */

import { execFileSync, spawnSync } from "node:child_process";
import {
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
} from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { whyNotHere } from "../other-hosts/this-engine.js";
import { kNodeProgram } from "../support/node-arguments.js";
import {
  BubblewrapNativeRunner,
  createRuntime,
  FirejailNativeRunner,
  LandlockNativeRunner,
  LocalNativeRunner,
  SandboxError,
  type WorkspaceFiles,
} from "../support/package.js";
import { isRoot, testUnless, whyNoBubblewrap } from "../support/requirements.js";
import { bytes, run } from "../support/results.js";
import { tempDirectory } from "../support/temp.js";
import { codeOf, refusalOf } from "./refusal.js";

type WithFiles = { files: WorkspaceFiles };

const kKinds: [string, (shadowDir: string) => WithFiles | Promise<WithFiles>][] = [
  ["Bubblewrap", (shadowDir) => new BubblewrapNativeRunner({ shadowDir })],
  ["Landlock", (shadowDir) => new LandlockNativeRunner({ shadowDir })],
  ["Firejail", (shadowDir) => new FirejailNativeRunner({ shadowDir })],
  ["local", (shadowDir) => new LocalNativeRunner({ shadowDir })],
  [
    "a configured runtime's",
    async (shadowDir) => (await createRuntime({ runtimeType: "native" })).runner({ shadowDir }),
  ],
];

const filesOf = (shadowDir: string): WorkspaceFiles => new LocalNativeRunner({ shadowDir }).files;

function made(): { directory: string; files: WorkspaceFiles } {
  const directory = tempDirectory("files");
  return { directory, files: filesOf(directory) };
}

describe.each(kKinds)("files, %s", (_, makeRunner) => {
  test("what the host wrote and what is read are the same bytes", async () => {
    const directory = tempDirectory("files");
    const { files } = await makeRunner(directory);
    const all = Uint8Array.from({ length: 256 }, (__, i) => i);
    const written = await files.write("all", all);
    expect(written).toMatchObject({ type: "file", size: 256 });
    expect(new Uint8Array(readFileSync(join(directory, "all")))).toEqual(all);
    expect(await files.read("all")).toEqual(all);
    expect(Object.getPrototypeOf(await files.read("all"))).toBe(Uint8Array.prototype);
    expect(await files.stat("all")).toEqual(written);
    await files.mkdir("a/b", { recursive: true });
    await files.rename("all", "a/b/all");
    expect(await files.list("", { recursive: true })).toEqual([
      { path: "a", type: "directory" },
      { path: "a/b", type: "directory" },
      { path: "a/b/all", type: "file" },
    ]);
    await files.remove("a", { recursive: true });
    expect(await files.list("")).toEqual([]);
  });
});

describe("files", () => {
  testUnless(
    whyNoBubblewrap,
    "commands see what the host writes, and the other way round",
    async () => {
      const shadowDir = tempDirectory("files");
      const runner = new BubblewrapNativeRunner({ shadowDir });
      await runner.files.write("in.txt", "from the host\n");
      await run(runner, "tr a-z A-Z < in.txt > out.txt; chmod 640 out.txt");
      expect(await runner.files.readText("out.txt")).toBe("FROM THE HOST\n");
      expect(await runner.files.stat("out.txt")).toMatchObject({
        type: "file",
        size: 14,
        mode: 0o640,
      });
      await runner.close();
      expect(await runner.files.readText("out.txt")).toBe("FROM THE HOST\n");
    },
  );

  test.each(["a/b", "/a/b", "workspace/a/b", "/workspace/a/b", "./a//b", "a/x/../b"])(
    "%j is the same file, as with cwd",
    async (path) => {
      const { files } = made();
      await files.mkdir("a");
      await files.write(path, "text");
      expect(await files.list("a")).toEqual([{ path: "a/b", type: "file" }]);
      expect(await files.readText(bytesOf(path))).toBe("text");
    },
  );

  test("a file over maxBytes is refused by its size, never cut", async () => {
    const { directory, files } = made();
    await files.write("four", "1234");
    expect(await files.readText("four", { maxBytes: 4 })).toBe("1234");
    expect(await refusalOf(files.read("four", { maxBytes: 3 }))).toMatchObject({
      name: "RangeError",
      code: "ERR_FS_FILE_TOO_LARGE",
      path: "four",
    });
    truncateSync(join(directory, "four"), 64 * 1024 ** 2 + 1);
    expect(await codeOf(files.read("four"))).toBe("ERR_FS_FILE_TOO_LARGE");
    truncateSync(join(directory, "four"), 64 * 1024 ** 2);
    expect(await files.read("four")).toHaveLength(64 * 1024 ** 2);
  });

  test("a file that is mostly nowhere is refused by its size too", async () => {
    const { directory, files } = made();
    await files.write("sparse", "");
    truncateSync(join(directory, "sparse"), 1024 ** 3);
    expect(await codeOf(files.read("sparse"))).toBe("ERR_FS_FILE_TOO_LARGE");
  });

  // All threads of the pool wait in an open of a FIFO, until this thread opens its other end.
  const kOwnPool = whyNotHere({
    Bun: "its pool takes up work in no order",
    Deno: "its open() of a FIFO holds no thread of Node-API's pool",
  });
  testUnless(
    kOwnPool,
    "the work is done on the thread pool, and the JavaScript thread goes on",
    async () => {
      const { directory, files } = made();
      const fifo = join(directory, "fifo");
      execFileSync("mkfifo", [fifo]);
      const threads = Number(process.env.UV_THREADPOOL_SIZE ?? 4);
      const waiting = Array.from({ length: threads }, () => open(fifo, "r"));
      const writing = files.write("later", "x");
      try {
        for (let turn = 0; turn < 20; turn += 1) await delay(1);
        expect(existsSync(join(directory, "later"))).toBe(false);
      } finally {
        const writer = openSync(fifo, "w"); // else the pool waits for ever
        for (const reader of await Promise.all(waiting)) await reader.close();
        closeSync(writer);
      }
      expect(await writing).toMatchObject({ size: 1 });
    },
  );

  test("text is UTF-8", async () => {
    const { files } = made();
    for (const text of ["", "ä€𝄞", "\uFEFFmark", "a\r\n\0b"]) {
      await files.write("text", text);
      expect(await files.readText("text")).toBe(text);
      expect(await files.readText("text", { fatal: true })).toBe(text);
    }
    await files.write("none", new Uint8Array([97, 255, 98]));
    expect(await files.readText("none")).toBe("a\uFFFDb");
    const refusal = await refusalOf(files.readText("none", { fatal: true }));
    expect(refusal).toMatchObject({ name: "TypeError", code: "ERR_ENCODING_INVALID_ENCODED_DATA" });
  });

  test("data is copied with the call", async () => {
    const { files } = made();
    const data = bytes("before");
    const writing = files.write("data", data);
    data.fill(0);
    await writing;
    expect(await files.readText("data")).toBe("before");
    const part = bytes("xxpartxx").subarray(2, 6);
    await files.write("data", part);
    expect(await files.readText("data")).toBe("part");
  });

  test("names that are no UTF-8 are told, and can be used", async () => {
    const { directory, files } = made();
    const wanted = Buffer.from("d\xff/f\xfe", "latin1");
    await files.mkdir(Buffer.from("d\xff", "latin1"));
    await files.write(wanted, "text");
    const listed = await files.list("", { recursive: true });
    expect(listed.map(({ path }) => path)).toEqual(["d\uFFFD", "d\uFFFD/f\uFFFD"]);
    expect(listed.map(({ pathBytes }) => Buffer.from(pathBytes ?? []).toString("latin1"))).toEqual([
      "d\xff",
      "d\xff/f\xfe",
    ]);
    for (const { pathBytes, type } of listed) {
      if (type === "file") expect(await files.readText(pathBytes ?? "")).toBe("text");
    }
    expect(await codeOf(files.read("d\uFFFD/f\uFFFD"))).toBe("ENOENT");
    await files.remove(listed[0]?.pathBytes ?? "", { recursive: true });
    expect(await files.list("")).toEqual([]);
    expect(existsSync(directory)).toBe(true);
  });

  test("what list tells can be handed on, whatever it is called", async () => {
    const { files } = made();
    const names = ["workspace", "a\nb", " ", "-rf", "...", "ü", "\\", "'"];
    for (const name of names) {
      await files.mkdir(`/workspace/${name}`);
      await files.write(`/workspace/${name}/workspace`, name);
    }
    const listed = await files.list("", { recursive: true });
    expect(listed).toHaveLength(2 * names.length);
    const texts = listed
      .filter(({ type }) => type === "file")
      .map(async ({ path }) => files.readText(path));
    expect((await Promise.all(texts)).sort()).toEqual([...names].sort());
  });

  test("a list that would be too long is refused", async () => {
    const { files } = made();
    for (let i = 0; i < 5; i += 1) await files.write(`f${i}`, "");
    expect(await files.list("", { maxEntries: 5 })).toHaveLength(5);
    expect(await refusalOf(files.list("/", { maxEntries: 4 }))).toMatchObject({
      name: "RangeError",
      code: "ERR_FS_TOO_MANY_ENTRIES",
      path: "/",
    });
  });

  test("modes: kept, given, or the umask's", async () => {
    const { directory, files } = made();
    const modeOf = (name: string) => statSync(join(directory, name)).mode & 0o7777;
    await files.write("f", "");
    expect(modeOf("f")).toBe(0o666 & ~process.umask());
    await files.write("f", "", { mode: 0o751 });
    await files.write("f", "more");
    expect(modeOf("f")).toBe(0o751);
    await files.mkdir("d", { mode: 0o700 });
    expect(modeOf("d")).toBe(0o700);
  });

  test("the workspace is the one that is there with each call", async () => {
    const directory = tempDirectory("files");
    const files = filesOf(join(directory, "work"));
    const missing = await refusalOf(files.read("f"));
    expect(missing).toMatchObject({ name: "SandboxError", code: "ERR_SANDBOX_SETUP" });
    expect(missing?.message).toContain(join(directory, "work"));
    for (const name of ["one", "two"]) {
      await filesOf(directory).mkdir(name);
      symlinkSync(name, join(directory, "work"));
      await files.write("f", name);
      expect(readFileSync(join(directory, name, "f"), "utf8")).toBe(name);
      expect(await files.readText("f")).toBe(name);
      rmSync(join(directory, "work"));
    }
    expect(await codeOf(files.stat(""))).toBe("ERR_SANDBOX_SETUP");
  });

  test("a subclass's files, and those of many runners, are their own", async () => {
    class Mine extends LocalNativeRunner {}
    const [a, b] = [tempDirectory("files"), tempDirectory("files")];
    const [one, two] = [new Mine({ shadowDir: a }), new Mine({ shadowDir: b })];
    await Promise.all([one.files.write("f", "a"), two.files.write("f", "b")]);
    expect(await one.files.readText("f")).toBe("a");
    expect(await two.files.readText("f")).toBe("b");
  });

  // A workspace that commands may not write is not written for them by a tool either.
  test("rights are no more than a command's", async () => {
    const shadowDir = tempDirectory("files");
    await filesOf(shadowDir).write("f", "text");
    const readOnly = [
      new BubblewrapNativeRunner({ shadowDir, allowWriteWorkspace: false }),
      new LandlockNativeRunner({ shadowDir, allowWriteWorkspace: false }),
    ];
    for (const { files } of readOnly) {
      expect(await files.readText("f")).toBe("text");
      expect(await codeOf(files.write("f", ""))).toBe("EROFS");
      expect(await codeOf(files.mkdir("d"))).toBe("EROFS");
      expect(await codeOf(files.rename("f", "g"))).toBe("EROFS");
      expect(await codeOf(files.remove("f"))).toBe("EROFS");
    }
    const { files } = new LandlockNativeRunner({ shadowDir, allowReadWorkspace: false });
    expect(await codeOf(files.read("f"))).toBe("EACCES");
    expect(await codeOf(files.readText("f"))).toBe("EACCES");
    expect(await codeOf(files.list(""))).toBe("EACCES");
    expect(await files.stat("f")).toMatchObject({ size: 4 });
    expect(await files.write("f", "more")).toMatchObject({ size: 4 });
  });

  testUnless(isRoot ? "root may open all" : undefined, "what modes refuse is EACCES", async () => {
    const { files } = made();
    await files.write("f", "text", { mode: 0o444 });
    expect(await files.readText("f")).toBe("text");
    expect(await codeOf(files.write("f", "x"))).toBe("EACCES");
    await files.write("g", "text", { mode: 0 });
    expect(await codeOf(files.read("g"))).toBe("EACCES");
  });

  // /proc/sys is no place in which anything can be made, whoever asks.
  test("what the file system refuses has its code", async () => {
    const files = filesOf("/proc/sys");
    expect(await files.readText("kernel/ostype")).toBe("Linux\n");
    expect(["EACCES", "EPERM", "ENOENT", "EROFS"]).toContain(await codeOf(files.write("new", "")));
  });

  test("without a native addon it is refused, and making a runner is not", () => {
    const script = `
      import { LocalNativeRunner } from "${join(import.meta.dirname, "../../../dist/index.js")}";
      const { files } = new LocalNativeRunner({ shadowDir: "/tmp" });
      await files.read("f").catch(({ name, code }) => console.log(name, code));`;
    const { stdout } = spawnSync(kNodeProgram, ["--input-type=module", "-e", script], {
      encoding: "utf8",
      env: { ...process.env, OPENAGENTIC_NATIVE_RUNNER_PRESET: "none" },
    });
    expect(stdout).toBe(`${SandboxError.name} ERR_SANDBOX_UNAVAILABLE\n`);
  });
});

function bytesOf(path: string): Uint8Array {
  return new TextEncoder().encode(path);
}
