/** Two trees compared by programs of the system's, whatever their names and however deep they are. */

import { spawnSync } from "node:child_process";
import { expect } from "vitest";

import { run } from "../../support/results.js";
import { openTransaction } from "../../support/transactions.js";
import { changedCopy, copyOf } from "../tree-scripts.js";

const kMost = 256 * 2 ** 20;

function saidBy(program: string, args: readonly string[], cwd: string): string {
  const done = spawnSync(program, args, { cwd, encoding: "latin1", maxBuffer: kMost });
  if (done.error) throw done.error;
  return done.stdout;
}

/** Each path with type, permissions, size and target, and each file's sum; in one order. */
export function manifestOf(directory: string): string[] {
  // A directory's own size is the file system's business.
  const format = "%y %#m %U:%G %l %P\\0";
  const entries = saidBy("find", [".", "-printf", format], directory).split("\0");
  const sums = saidBy(
    "find",
    [".", "-type", "f", "-readable", "-exec", "sha256sum", "-z", "{}", "+"],
    directory,
  ).split("\0");
  return [...entries, ...sums].filter((line) => line !== "").sort();
}

/** The first that only one of them has: whole manifests are too long to be shown. */
export function expectSameTree(one: string, other: string): void {
  const first = manifestOf(one);
  const second = new Set(manifestOf(other));
  const missing = first.filter((line) => !second.delete(line));
  expect({ missing: missing.slice(0, 5), more: [...second].slice(0, 5) }).toEqual({
    missing: [],
    more: [],
  });
}

/** Committed, the tree is what a run without a transaction makes; undone, it is what it was. */
export async function expectCommits(workspace: string, script: string): Promise<void> {
  const before = copyOf(workspace);
  const expected = await changedCopy(workspace, script);
  const { transaction } = await openTransaction(workspace);
  expect(await run(transaction, script)).toMatchObject({ err: "", exitCode: 0 });
  expectSameTree(workspace, before);
  const changes = await transaction.changes();
  expect(changes).not.toEqual([]);
  const { committed } = await transaction.commit();
  expect(committed).toEqual(changes);
  expectSameTree(workspace, expected);
  await transaction.undo();
  expectSameTree(workspace, before);
  expect(await transaction.changes()).toEqual(changes);
  await transaction.commit();
  expectSameTree(workspace, expected);
  await transaction.discard();
  expectSameTree(workspace, expected);
}
