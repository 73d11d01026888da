// As root too: owners and modes cross for root alone.
/** States of entries: what tells one from another must be as fine as the kernel has it, in every engine. */

import { execFileSync } from "node:child_process";
import { closeSync, openSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";

import { expect, test } from "vitest";

import {
  Beneath,
  ctimeNsOf,
  isSameStamp,
  modeOf,
  mtimeNsOf,
  type Stamp,
  sizeOf,
  stampOf,
} from "../../../../lib/remote/workspace/content/beneath.js";
import { kTop } from "../../../../lib/remote/workspace/content/entry.js";
import { survey } from "../../../../lib/remote/workspace/snapshot.js";
import { tempDirectory } from "../../support/temp.js";

function place(): string {
  const directory = tempDirectory("stamps");
  writeFileSync(path.join(directory, "file"), "text");
  symlinkSync("nowhere", path.join(directory, "link"));
  execFileSync("mkfifo", [path.join(directory, "fifo")]);
  return directory;
}

/** As stat(1) tells it: 2026-11-26 07:16:42.840962937 +0000. */
function nanoseconds(text: string): bigint {
  const [date = "", time = "", zone = ""] = text.split(" ");
  const [seconds = "", fraction = ""] = time.split(".");
  const zoned = `${date}T${seconds}${zone.slice(0, 3)}:${zone.slice(3)}`;
  return BigInt(Date.parse(zoned)) * 1_000_000n + BigInt(fraction);
}

function reported(stamp: Stamp) {
  const times = { mtime: mtimeNsOf(stamp), ctime: ctimeNsOf(stamp) };
  return { mode: modeOf(stamp), size: sizeOf(stamp), ...times };
}

function byStat(file: string) {
  const output = execFileSync("stat", ["-c", "%f|%s|%y|%z", file], { encoding: "utf8" });
  const [mode = "", size, mtime = "", ctime = ""] = output.trim().split("|");
  const times = { mtime: nanoseconds(mtime), ctime: nanoseconds(ctime) };
  return { mode: Number.parseInt(mode, 16), size: Number(size), ...times };
}

const kNames = [kTop, "file", "link", "fifo"];

test.each(kNames)("a stamp of %s has what stat(1) tells, to the nanosecond", (name) => {
  const directory = place();
  const file = path.join(directory, name);
  const tree = new Beneath(directory);
  expect(reported(tree.lstat(name))).toEqual(byStat(file));
  tree.close();
});

test("it is the same by path, by descriptor, and in a survey", async () => {
  const directory = place();
  const tree = new Beneath(directory);
  const { seen } = await survey(directory, { maxEntries: 10, maxBytes: 1 });
  expect(seen.map((each) => each.path).sort()).toEqual([...kNames].sort());
  for (const each of seen) expect(isSameStamp(each.stamp, tree.lstat(each.path))).toBe(true);
  const open = openSync(path.join(directory, "file"), "r");
  expect(isSameStamp(stampOf(open), tree.lstat("file"))).toBe(true);
  closeSync(open);
  tree.close();
});

test("an edit of the same size is another state, though its mtime was put back", () => {
  const directory = place();
  const file = path.join(directory, "file");
  utimesSync(file, 1_000_000_000, 1_000_000_000);
  const before = stampOf(file);
  for (let tries = 0; tries < 1_000; tries += 1) {
    writeFileSync(file, "edit");
    utimesSync(file, 1_000_000_000, 1_000_000_000);
    if (!isSameStamp(before, stampOf(file))) break; // within a tick of the kernel's clock it may look alike
  }
  const after = stampOf(file);
  expect(isSameStamp(before, after)).toBe(false);
  expect(mtimeNsOf(after)).toBe(mtimeNsOf(before));
  expect(ctimeNsOf(after) - ctimeNsOf(before)).toBeLessThan(1_000_000_000n);
});

test("what is not there, or is no place, is told as node:fs tells it", () => {
  const missing = path.join(place(), "missing");
  expect(() => stampOf(missing)).toThrow(
    expect.objectContaining({ code: "ENOENT", syscall: "lstat", path: missing }),
  );
  for (const [named, code] of [
    ["", "ENOENT"],
    [`${place()}/file\0more`, "EINVAL"],
  ] as const) {
    expect(() => stampOf(named)).toThrow(expect.objectContaining({ code, syscall: "lstat" }));
  }
  expect(() => stampOf(1_000_000)).toThrow(
    expect.objectContaining({ code: "EBADF", syscall: "fstat" }),
  );
  expect(() => stampOf(undefined as unknown as string)).toThrow(
    expect.objectContaining({ code: "ERR_INVALID_ARG_TYPE" }),
  );
});
