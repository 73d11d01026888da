/** The check of sizes: a file of 350 lines and a folder of 20 files pass, one more of either does not. */

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";

const kCheck = fileURLToPath(new URL("../../scripts/checks/sizes.mjs", import.meta.url));

const kGit = fileURLToPath(new URL("../../.git", import.meta.url));

let copy = "";
beforeEach(() => {
  copy = mkdtempSync(join(tmpdir(), "sizes-"));
  spawnSync("git", ["init", "-q", copy]);
  mkdirSync(join(copy, "room"));
});
afterEach(() => rmSync(copy, { recursive: true, force: true }));

function check(...directory: string[]): string[] {
  const { status, stderr } = spawnSync(process.execPath, [kCheck, ...directory], {
    encoding: "utf8",
  });
  expect(status).toBe(stderr === "" ? 0 : 1);
  return stderr.split("\n").filter((line) => / has \d+ /.test(line));
}

function write(name: string, lines: number) {
  writeFileSync(join(copy, "room", name), "x\n".repeat(lines));
}

test("this tree keeps to them", ({ skip }) => {
  if (!existsSync(kGit)) skip("this is no git checkout");
  expect(check()).toEqual([]);
});

test("a file of code has at most 350 lines, others as many as they like", () => {
  write("code.cpp", 350);
  write("table.json", 351);
  expect(check(copy)).toEqual([]);
  write("code.cpp", 351);
  expect(check(copy)).toEqual(["room/code.cpp has 351 lines, at most 350 are wanted"]);
});

test("a folder has at most 20 files", () => {
  for (let i = 0; i < 20; i += 1) write(`${i}.json`, 1);
  expect(check(copy)).toEqual([]);
  write("another.json", 1);
  expect(check(copy)).toEqual(["room/ has 21 files, at most 20 are wanted"]);
});
