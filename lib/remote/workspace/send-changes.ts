/** The worker's half after a run: reports the run's changes and sends their contents. */

import { sendBlobs } from "./blobs.js";
import { Beneath, digestOf, mtimeNsOf, sizeOf } from "./content/beneath.js";
import { comparePaths, type Entry, inWriteOrder, kModeBits } from "./content/entry.js";
import { type Delta, type Manifest, textOfDelta } from "./content/manifest.js";
import { type Exchange, WorkspaceError } from "./exchange.js";
import type { ReportedChange } from "./thread/channel.js";

/**
 * Returns the error for a path that can't be read: names that are not UTF-8 are reported with U+FFFD, which match no
 * entry.
 */
function unsupported(path: string, cause: unknown): WorkspaceError {
  const message = `what the command has made of ${path} can't be moved: it can't be read by that name`;
  return new WorkspaceError(message, "ERR_WORKSPACE_UNSUPPORTED", cause);
}

async function entryOf(
  tree: Beneath,
  { path, type, mode, target }: ReportedChange,
): Promise<Entry> {
  try {
    if (type !== "file") tree.lstat(path);
    if (type === "directory") return { type, path, mode: mode & kModeBits };
    if (type === "symlink") return { type, path, target: target ?? "" };
    const { sha256, stamp } = await digestOf(tree, path);
    const mtimeUs = Number(mtimeNsOf(stamp) / 1000n);
    const size = sizeOf(stamp);
    return { type: "file", path, mode: mode & kModeBits, size, mtimeUs, sha256 };
  } catch (error) {
    if (error instanceof WorkspaceError) throw error;
    throw unsupported(path, error);
  }
}

/** Returns the delta that changes make of a state. FIFOs, sockets and devices count as deleted. */
async function deltaOfChanges(
  tree: Beneath,
  from: Manifest,
  changes: readonly ReportedChange[],
): Promise<Delta> {
  const removed = new Set<string>();
  const set: Entry[] = [];
  for (const change of changes) {
    const { path, kind, type, from: origin } = change;
    if (origin !== undefined) removed.add(origin);
    const isGone = kind === "deleted" || type === "other";
    if (isGone && from.find(path)) removed.add(path);
    if (!isGone) set.push(await entryOf(tree, change));
  }
  for (const { path } of set) removed.delete(path);
  return {
    removed: [...removed].sort(comparePaths),
    set: set.sort((one, other) => comparePaths(one.path, other.path)),
  };
}

/**
 * Sends the changes of a run, and waits for the caller's verdict.
 * @param contents the directory in which the transaction keeps changed entries
 * @returns the delta, and true as `committed` if the caller has it now
 * @throws (rejects) WorkspaceError; the other side has received the error
 */
export async function sendChanges(
  exchange: Exchange,
  contents: string,
  from: Manifest,
  changes: readonly ReportedChange[],
): Promise<{ delta: Delta; committed: boolean }> {
  const tree = new Beneath(contents);
  try {
    const delta = await deltaOfChanges(tree, from, changes);
    const text = Buffer.from(textOfDelta(delta));
    await exchange.sendStream({ t: "changes", bytes: text.length }, [text]);
    const files = inWriteOrder(delta.set);
    if (files.length > 0) await sendBlobs(exchange, tree, files);
    const { header } = await exchange.receive("verdict");
    return { delta, committed: header.committed };
  } catch (error) {
    await exchange.fail(error);
    throw error;
  } finally {
    tree.close();
  }
}
