/** Transactions in directories that are gone with the tests, and what the host sees of a workspace. */

import {
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  type Stats,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

import {
  BubblewrapNativeRunner,
  type BubblewrapNativeRunnerOptions,
  type Transaction,
} from "./package.js";
import { tempDirectory } from "./temp.js";

export type Opened = {
  workspace: string;
  /** Where transactions are kept. */
  state: string;
  runner: BubblewrapNativeRunner;
  transaction: Transaction;
};

/** A transaction on a workspace, a new one unless it is given. */
export async function openTransaction(
  workspace = tempDirectory(),
  options: Partial<BubblewrapNativeRunnerOptions> = {},
): Promise<Opened> {
  const state = stateDirectory();
  const runner = new BubblewrapNativeRunner({ shadowDir: workspace, prewarm: 0, ...options });
  return {
    workspace,
    state,
    runner,
    transaction: await runner.openTransaction({ directory: state }),
  };
}

/** One that exists and is its user's alone, as it has to be. */
export function stateDirectory(): string {
  return tempDirectory("state");
}

function describe(path: string, status: Stats): string {
  const { mode, uid, gid, size, mtimeMs } = status;
  const kept = `${mode.toString(8)} ${uid}:${gid}`;
  if (status.isSymbolicLink()) return `${kept} -> ${readlinkSync(path)}`;
  if (!status.isFile()) return kept;
  return `${kept} ${size} ${mtimeMs} ${readFileSync(path).toString("hex")}`;
}

/** All that a directory holds, path by path, with modes, owners, times and contents. */
export function treeOf(directory: string): Record<string, string> {
  const tree: Record<string, string> = {};
  for (const path of readdirSync(directory, { recursive: true, encoding: "utf8" }).sort()) {
    tree[path] = describe(join(directory, path), lstatSync(join(directory, path)));
  }
  return tree;
}

/** A workspace with a bit of everything in it. */
export function project(): string {
  const workspace = tempDirectory();
  new Map([
    ["a.txt", "one\n"],
    ["b.txt", "two\n"],
    ["gone.txt", "three\n"],
    ["run.sh", "#!/bin/sh\necho ran\n"],
  ]).forEach((text, name) => {
    writeFileSync(join(workspace, name), text);
  });
  return workspace;
}
