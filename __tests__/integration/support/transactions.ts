/** Transactions in directories that are gone with the tests, and what the host sees of a workspace. */

import { createHash } from "node:crypto";
import {
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  type Stats,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";

import {
  BubblewrapNativeRunner,
  type BubblewrapNativeRunnerOptions,
  type Change,
  type Transaction,
  type TransactionBackend,
} from "./package.js";
import { describeSandboxed } from "./requirements.js";
import { tempDirectory } from "./temp.js";

export { treeOf } from "../../support/tree-of.js";

export type Opened = {
  workspace: string;
  /** Where transactions are kept. */
  state: string;
  runner: BubblewrapNativeRunner;
  transaction: Transaction;
};

/** A transaction on a workspace, a new one unless it is given, with what is to be had here. */
export async function openTransaction(
  workspace = tempDirectory(),
  options: Partial<BubblewrapNativeRunnerOptions> = {},
  backend: TransactionBackend = "auto",
  state = stateDirectory(),
): Promise<Opened> {
  const runner = new BubblewrapNativeRunner({ shadowDir: workspace, prewarm: 0, ...options });
  return {
    workspace,
    state,
    runner,
    transaction: await runner.openTransaction({ directory: state, backend }),
  };
}

export const kBackends = ["overlay", "copy"] as const;

/** The same tests for transactions of each kind; `open` is `openTransaction` for one of that kind. */
export function describeBackends(
  name: string,
  body: (open: typeof openTransaction, backend: (typeof kBackends)[number]) => void,
): void {
  for (const backend of kBackends) {
    describeSandboxed(`${name} (${backend})`, () =>
      body((workspace, options) => openTransaction(workspace, options, backend), backend),
    );
  }
}

/** One that exists and is its user's alone, as it has to be. */
export function stateDirectory(): string {
  return tempDirectory("state");
}

/** What is done after it has another time than what was done before. */
export const pastTick = () => wait(30);

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

type Entry = { status: Stats; target: string | undefined; contents: string };

function contentsOf(file: string): string {
  try {
    return createHash("sha256").update(readFileSync(file)).digest("hex");
  } catch {
    return "unreadable";
  }
}

/** Without what may not be looked at: its directory's mode tells. */
function namesOf(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

/** Whatever is in a tree, by path; "." is the directory itself. */
function entriesOf(directory: string): Map<string, Entry> {
  const entries = new Map<string, Entry>();
  const waiting = ["."];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const full = join(directory, path);
    const status = lstatSync(full);
    // Not readdir's own recursion, which goes through links.
    if (status.isDirectory()) waiting.push(...namesOf(full).map((name) => join(path ?? "", name)));
    const target = status.isSymbolicLink() ? readlinkSync(full) : undefined;
    const contents = status.isFile() ? contentsOf(full) : "";
    entries.set(path, { status, target, contents });
  }
  return entries;
}

function typeOf(status: Stats): Change["type"] {
  if (status.isFile()) return "file";
  if (status.isDirectory()) return "directory";
  return status.isSymbolicLink() ? "symlink" : "other";
}

const sizeOf = (status: Stats | undefined) =>
  status?.isFile() || status?.isSymbolicLink() ? status.size : 0;

function isSame(one: Entry, other: Entry): boolean {
  return (
    one.status.mode === other.status.mode &&
    one.status.uid === other.status.uid &&
    one.status.gid === other.status.gid &&
    one.target === other.target &&
    one.contents === other.contents
  );
}

const nameOf = (path: string) => path.slice(path.lastIndexOf("/") + 1);

/** Of files that went and came with the same bytes, one change each; those of one name first. */
function withRenames(changes: Change[], old: Map<string, Entry>, now: Map<string, Entry>) {
  let left = changes;
  for (const byName of [true, false]) {
    for (const made of left.filter(({ kind, type }) => kind === "added" && type === "file")) {
      const from = left.find(
        ({ kind, type, path, previousSize }) =>
          kind === "deleted" &&
          type === "file" &&
          previousSize > 0 &&
          old.get(path)?.contents === now.get(made.path)?.contents &&
          (!byName || nameOf(path) === nameOf(made.path)),
      );
      if (!from) continue;
      const { previousSize, previousMode } = from;
      const both = { kind: "renamed", from: from.path, previousSize, previousMode } as const;
      left = left
        .filter((change) => change !== from)
        .map((change) => (change === made ? { ...made, ...both } : change));
    }
  }
  return left;
}

/** What makes the one tree the other, worked out by looking at all of both. */
export function differences(before: string, after: string): Change[] {
  const old = entriesOf(before);
  const now = entriesOf(after);
  const paths = [...new Set([...old.keys(), ...now.keys()])];
  paths.sort((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
  const changes = paths.flatMap((path): Change[] => {
    const was = old.get(path);
    const is = now.get(path);
    if (was && is && isSame(was, is)) return [];
    return [
      {
        path,
        kind: !was ? "added" : is ? "modified" : "deleted",
        type: typeOf((is ?? was)?.status as Stats),
        size: sizeOf(is?.status),
        previousSize: sizeOf(was?.status),
        mode: is?.status.mode ?? 0,
        previousMode: was?.status.mode ?? 0,
        ...(is?.target !== undefined && { target: is.target }),
      },
    ];
  });
  return withRenames(changes, old, now);
}
