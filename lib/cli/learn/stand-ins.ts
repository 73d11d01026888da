/**
 * Copies of what a round may write: what commands write to a mount is written on the host, transaction or
 * not, and of a round nothing is to be left.
 */

import { cp, lstat, mkdtemp, opendir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";

import type { NativeMount } from "../../../types/public.js";

const kMostEntries = 20_000;
const kMostBytes = 256 * 1024 ** 2;

class TooMuch extends Error {}

type Total = { entries: number; bytes: number };

async function add(path: string, total: Total): Promise<void> {
  const stat = await lstat(path);
  total.entries += 1;
  total.bytes += stat.isFile() ? stat.size : 0;
  if (total.entries > kMostEntries || total.bytes > kMostBytes) throw new TooMuch("too large");
  if (!stat.isDirectory() && !stat.isFile() && !stat.isSymbolicLink()) throw new TooMuch("special");
  if (!stat.isDirectory()) return;
  for await (const entry of await opendir(path)) await add(join(path, entry.name), total);
}

/** Why no copy of it can be made; undefined where one can. */
export async function whyNoStandIn(path: string): Promise<string | undefined> {
  try {
    await add(path, { entries: 0, bytes: 0 });
    return undefined;
  } catch (error) {
    if (!(error instanceof TooMuch)) return `it can't be copied: ${(error as Error).message}`;
    return error.message === "special"
      ? "it has what is neither file nor directory, and a round writes to a copy"
      : "it is too large for a copy, and a round writes to a copy";
  }
}

/** The copies of one round. */
export class StandIns {
  #directory: string | undefined;
  #count = 0;

  /** The mounts with a copy in place of each that can be written. */
  async inPlaceOf(mounts: readonly NativeMount[]): Promise<NativeMount[]> {
    const made: NativeMount[] = [];
    for (const mount of mounts) made.push(mount.mode === "rw" ? await this.#copyOf(mount) : mount);
    return made;
  }

  async #copyOf({ hostPath, guestPath = hostPath, mode }: NativeMount): Promise<NativeMount> {
    this.#directory ??= await mkdtemp(join(tmpdir(), "native-runner-learn-"));
    this.#count += 1;
    const copy = join(this.#directory, String(this.#count), basename(hostPath));
    await cp(hostPath, copy, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
    return { hostPath: copy, guestPath, mode };
  }

  async remove(): Promise<void> {
    if (this.#directory !== undefined) {
      await rm(this.#directory, { recursive: true, force: true });
      this.#directory = undefined;
    }
  }
}
