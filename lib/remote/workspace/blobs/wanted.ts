/** Which contents the other side has not got: told by the indexes of entries that have them. */

import type { Entry, FileEntry } from "../content/entry.js";
import type { Exchange } from "../exchange.js";
import { badMessage } from "../workspace-error.js";

/** Of each content the first file that has it, without those for which `has` is true. */
export function distinctFiles(
  entries: readonly Entry[],
  has: (sha256: string) => boolean = () => false,
): FileEntry[] {
  const found = new Set<string>();
  const files: FileEntry[] = [];
  for (const entry of entries) {
    if (entry.type !== "file" || found.has(entry.sha256) || has(entry.sha256)) continue;
    found.add(entry.sha256);
    files.push(entry);
  }
  return files;
}

/** Asks for the contents of some of the other side's entries, in their order; `all`: of all. */
export async function askFor(
  exchange: Exchange,
  entries: readonly Entry[],
  files: readonly FileEntry[],
  all: boolean,
): Promise<void> {
  const wanted = new Set(files);
  const indexes: number[] = [];
  if (!all) {
    entries.forEach((entry, at) => {
      if (entry.type === "file" && wanted.has(entry)) indexes.push(at);
    });
  }
  const bytes = Buffer.allocUnsafe(4 * indexes.length);
  indexes.forEach((index, at) => {
    bytes.writeUInt32LE(index, 4 * at);
  });
  await exchange.sendStream({ t: "missing", all }, [bytes]);
}

/**
 * What the other side asks for of our entries.
 * @throws (rejects) WorkspaceError ERR_WORKSPACE_MESSAGE for an index of no file, or out of order.
 */
export async function asked(exchange: Exchange, entries: readonly Entry[]): Promise<FileEntry[]> {
  const { header } = await exchange.receive("missing");
  const bytes = await exchange.bytes(4 * entries.length);
  if (header.all) return distinctFiles(entries);
  const files: FileEntry[] = [];
  let before = -1;
  for (let at = 0; at + 4 <= bytes.length; at += 4) {
    const index = bytes.readUInt32LE(at);
    const entry = entries[index];
    if (index <= before || entry?.type !== "file") throw badMessage("an index of no file");
    before = index;
    files.push(entry);
  }
  return files;
}
