/** The caller's half after a run: what the worker says was changed, and an archive of it. */

import { receiveBlobs } from "../blobs/receive-blobs.js";
import { applied, type Delta, parseDelta } from "../content/delta.js";
import type { DirectoryEntry, Entry } from "../content/entry.js";
import type { Bounds, Manifest } from "../content/manifest.js";
import { kTop, parentOf } from "../content/paths.js";
import type { Exchange } from "../exchange.js";
import { badMessage } from "../workspace-error.js";
import { kArchiveEnd, paddingOf, recordOf } from "./archive.js";
import { inWriteOrder } from "./write-order.js";

const kOwn = 0o700;

/** Where an archive goes; resolves when more may come. */
export type ArchiveSink = (bytes: Uint8Array) => Promise<void>;

/** What was changed, checked as far as it can be without its contents. */
export type Incoming = {
  readonly delta: Delta;
  /** What the workspace is going to be. */
  readonly next: Manifest;
};

/**
 * @throws (rejects) WorkspaceError ERR_WORKSPACE_MESSAGE where it does not fit what was sent to the
 * worker, ERR_WORKSPACE_LIMIT where it is over the bounds.
 */
export async function receiveDelta(
  exchange: Exchange,
  from: Manifest,
  bounds: Bounds,
): Promise<Incoming> {
  const kMostTextPerEntry = 4352; // a path of the usual longest
  const { header } = await exchange.receive("changes");
  if (header.bytes > 2 * bounds.maxEntries * kMostTextPerEntry) {
    throw badMessage("a change that is too long");
  }
  const delta = parseDelta((await exchange.bytes(header.bytes)).toString(), bounds);
  if (delta.removed.includes(kTop)) throw badMessage("the end of the workspace itself");
  return { delta, next: applied(from, delta, bounds) };
}

/** What has to go before the archive is unpacked, each with all below it. */
export function goingFirst(from: Manifest, { removed, set }: Delta): string[] {
  const inTheWay = set.filter(({ path, type }) => {
    const was = from.find(path);
    return was !== undefined && (was.type !== type || type === "symlink");
  });
  const going: string[] = [];
  const isCovered = new Set<string>();
  for (const path of [...removed, ...inTheWay.map((entry) => entry.path)].sort()) {
    let above = path;
    while (above !== kTop && !isCovered.has(above)) above = parentOf(above);
    if (above !== kTop) continue;
    isCovered.add(path);
    going.push(path);
  }
  return going;
}

/** Directories that keep their owner out while something is put into them. */
function closedOnes(from: Manifest, { set }: Delta): DirectoryEntry[] {
  const isSet = new Set(set.map(({ path }) => path));
  const parents = new Set(set.map(({ path }) => parentOf(path)));
  return from.entries.flatMap((entry) => {
    if (entry.type !== "directory" || isSet.has(entry.path) || !parents.has(entry.path)) return [];
    return (entry.mode & kOwn) === kOwn ? [] : [entry];
  });
}

/** Sends small records together. */
class Archive {
  readonly #sink: ArchiveSink;

  constructor(sink: ArchiveSink) {
    this.#sink = sink;
  }

  async add(entries: readonly Entry[]): Promise<void> {
    const kAtOnce = 256;
    for (let at = 0; at < entries.length; at += kAtOnce) {
      await this.#sink(Buffer.concat(entries.slice(at, at + kAtOnce).map(recordOf)));
    }
  }

  async write(bytes: Uint8Array): Promise<void> {
    if (bytes.byteLength > 0) await this.#sink(bytes);
  }
}

/**
 * Makes an archive of what was changed, while its contents come and are checked. Directories are open to
 * their owner until all is in them.
 * @throws (rejects) as `receiveBlobs`; what was unpacked until then is to be thrown away.
 */
export async function receiveArchive(
  exchange: Exchange,
  from: Manifest,
  delta: Delta,
  sink: ArchiveSink,
): Promise<void> {
  const archive = new Archive(sink);
  const closed = closedOnes(from, delta);
  const directories = delta.set.flatMap((entry) => (entry.type === "directory" ? [entry] : []));
  const all = [...closed, ...directories].sort((one, other) => (one.path < other.path ? -1 : 1));
  await archive.add(all.map((entry) => ({ ...entry, mode: entry.mode | kOwn })));
  await archive.add(delta.set.filter(({ type }) => type === "symlink"));
  const files = inWriteOrder(delta.set);
  if (files.length > 0) {
    await receiveBlobs(exchange, files, {
      begin: (file) => archive.add([file]),
      write: (bytes) => archive.write(bytes),
      end: ({ size }) => archive.write(paddingOf(size)),
    });
  }
  await archive.add(all.filter(({ mode }) => (mode & kOwn) !== kOwn).reverse());
  await archive.write(kArchiveEnd);
}
