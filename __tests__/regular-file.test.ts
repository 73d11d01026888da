import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { readPieces, readRegularFile } from "../lib/regular-file.js";
import { loadRuntimeConfig } from "../lib/runtime/parse-config.js";

const kText = JSON.stringify({ network: "allow" });
let folder: string;
const at = (name: string) => join(folder, name);

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "native-runner-file-"));
  writeFileSync(at("file"), kText);
  symlinkSync(at("file"), at("link"));
  symlinkSync("/dev/zero", at("zero"));
  expect(spawnSync("mkfifo", [at("fifo")]).status).toBe(0);
  symlinkSync(at("fifo"), at("fifo-link"));
  writeFileSync(at("large"), Buffer.alloc(1024 ** 2 + 1, " "));
  writeFileSync(
    at("full"),
    Buffer.concat([Buffer.from(kText), Buffer.alloc(1024 ** 2 - kText.length, " ")]),
  );
});
afterAll(() => rmSync(folder, { recursive: true }));

describe("readRegularFile", () => {
  it("reads a file and a link to one, up to the limit", async () => {
    expect((await readRegularFile(at("file"), kText.length)).toString()).toBe(kText);
    expect((await readRegularFile(at("link"), 1000)).toString()).toBe(kText);
    expect(await readRegularFile(at("file"), 1000)).toHaveLength(kText.length);
  });

  it("bounds what says that it has no size", async () => {
    // Files of /proc are regular and 0 bytes long.
    expect((await readRegularFile("/proc/self/status", 1024 ** 2)).length).toBeGreaterThan(100);
    await expect(readRegularFile("/proc/self/status", 100)).rejects.toThrow(
      "larger than 100 bytes",
    );
  });

  it("hands pieces on in order", async () => {
    let size = 0;
    const pieces: number[] = [];
    await readPieces(at("large"), 2 * 1024 ** 2, (piece) => {
      size += piece.length;
      pieces.push(piece.length);
    });
    expect(size).toBe(1024 ** 2 + 1);
    expect(pieces.length).toBeGreaterThan(2);
  });
});

describe("loadRuntimeConfig", () => {
  it.each(["file", "link", "full"])("reads a %s", async (name) => {
    expect((await loadRuntimeConfig(at(name))).network).toBe("allow");
  });

  it.each([
    ["fifo", "not a regular file"],
    ["fifo-link", "not a regular file"],
    ["zero", "not a regular file"],
    [".", "not a regular file"],
    ["large", "larger than 1048576 bytes"],
    ["nope", "ENOENT"],
  ])("refuses %s without waiting for it", async (name, why) => {
    await expect(loadRuntimeConfig(at(name))).rejects.toMatchObject({
      code: "ERR_INVALID_ARG_VALUE",
      message: expect.stringMatching(new RegExp(`^${at(name)}: .*${why}`)),
      cause: expect.any(Error),
    });
  });

  it("refuses a socket", async () => {
    const server = createServer().listen(at("socket"));
    await new Promise((resolve) => server.once("listening", resolve));
    await expect(loadRuntimeConfig(at("socket"))).rejects.toThrow(/socket: /);
    server.close();
  });
});
