/** Seeds of nkeys in files, each for one user of the broker. */

import { mkdir, open, readFile } from "node:fs/promises";
import path from "node:path";

import { invalidValue } from "../../errors.js";

/** What makes and reads keys; a part of the NATS client, an optional peer. */
export type Nkeys = typeof import("@nats-io/transport-node").nkeys;

/** A key, and whether it was made now. */
export type UserKey = { publicKey: string; isNew: boolean };

const kOwnerOnly = 0o600;
const kOwnersFolder = 0o700;

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code;

/** Made whole or not at all: a file that is there is somebody's key. */
async function make(file: string, seed: Uint8Array): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true, mode: kOwnersFolder });
  const handle = await open(file, "wx", kOwnerOnly);
  try {
    await handle.writeFile(Buffer.concat([seed, Buffer.from("\n")]));
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function seedOf(file: string): Promise<string | undefined> {
  try {
    return (await readFile(file, "utf8")).trim();
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/**
 * The key in a file; where there is no file, one is made with a new key, for its owner alone.
 *
 * @throws (rejects) TypeError for a file that has no seed of a user's; Node's errors of the file system.
 */
export async function userKey(file: string, nkeys: Nkeys): Promise<UserKey> {
  const seed = await seedOf(file);
  if (seed === undefined) {
    const pair = nkeys.createUser();
    await make(file, pair.getSeed());
    return { publicKey: pair.getPublicKey(), isNew: true };
  }
  try {
    const pair = nkeys.fromSeed(new TextEncoder().encode(seed));
    const publicKey = pair.getPublicKey();
    if (publicKey.startsWith("U")) return { publicKey, isNew: false };
  } catch {} // nothing of what is in it is told
  throw invalidValue(`${file} has no seed of a user's nkey`);
}
