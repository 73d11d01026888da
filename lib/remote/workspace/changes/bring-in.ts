/**
 * Brings what a worker has changed into the host's directory, by a transaction: all of it or nothing, and
 * nothing where the host has changed the same since. It is unpacked by a tar in a sandbox, which can write
 * to the transaction alone, so that no name, link or size of another machine's is the host's to fear.
 */

import type { Writable } from "node:stream";

import type { CommitReport, Transaction } from "../../../../types/transaction.js";
import { SandboxError } from "../../../errors.js";
import { some } from "../../../runners/transactions/commit-request.js";
import { TransactionError } from "../../../runners/transactions/transaction-error.js";

const kTar = ["tar", "-x", "-p", "-m", "-o", "-f", "-"];
const kMostSaid = 500;

/** What has come back, by those who have it. */
export type Changes = {
  /** Paths that go before the rest comes, each with all below it. */
  readonly going: readonly string[];
  /** Whether anything is to be unpacked. */
  readonly hasArchive: boolean;
  /** Gives the archive; rejects where it can't be had whole. */
  archive(write: (bytes: Uint8Array) => Promise<void>): Promise<void>;
  /** Paths that the host has changed since the workspace was sent. */
  conflicts(): Promise<string[]>;
};

/** `write` of a stream, which waits until the bytes are taken. */
function writerOf(stream: Writable): (bytes: Uint8Array) => Promise<void> {
  return (bytes) =>
    new Promise((resolve, reject) => {
      stream.write(bytes, (error) => (error ? reject(error) : resolve()));
    });
}

async function unpack(transaction: Transaction, archive: Changes["archive"]): Promise<void> {
  const tar = await transaction.spawn({ argv: kTar });
  const said: Uint8Array[] = [];
  tar.stderr?.on("data", (chunk: Uint8Array) => {
    if (said.length < 8) said.push(chunk);
  });
  tar.stdout.resume();
  let failed: { error: unknown } | undefined;
  try {
    await archive(writerOf(tar.stdin));
    tar.stdin.end();
  } catch (error) {
    failed = { error };
    await tar.stop();
  }
  const { exitCode, outcome } = await tar.result;
  const words = Buffer.concat(said).toString().trim().slice(0, kMostSaid);
  if (failed && words === "") throw failed.error;
  if (exitCode === 0 && !failed) return;
  const why = outcome.kind === "exited" ? words : `${outcome.kind} ${words}`;
  throw new SandboxError(`what has come back can't be unpacked: ${why}`, {
    code: outcome.kind === "not-found" ? "ERR_SANDBOX_UNAVAILABLE" : "ERR_SANDBOX_SETUP",
    ...(outcome.kind === "not-found" && { fix: "install tar where the sandbox sees it" }),
    cause: failed?.error,
  });
}

async function expectNoConflicts(
  transaction: Transaction,
  paths: readonly string[],
): Promise<void> {
  if (paths.length === 0) return;
  // Of what could not be unpacked there is none.
  const changes = await transaction.changes({ paths: [...paths] }).catch(() => []);
  const conflicts = changes.map((change) => ({ ...change, conflict: true as const }));
  const message = `the host has changed ${some(paths)} since the workspace was sent`;
  throw new TransactionError(message, "ERR_TRANSACTION_CONFLICT", paths, conflicts);
}

/** What goes may have gone already: that is a conflict, and found as one. */
async function remove(transaction: Transaction, paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    try {
      await transaction.files.remove(`/workspace/${path}`, { recursive: true });
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== "ENOENT" && code !== "ENOTDIR") throw error;
    }
  }
}

/**
 * @param open opens the transaction, which is gone afterwards.
 * @throws (rejects) TransactionError ERR_TRANSACTION_CONFLICT and ERR_TRANSACTION_PROTECTED as `commit`;
 * SandboxError where there can be no transaction, or no tar; as `changes` does. Nothing has changed then.
 */
export async function bringIn(
  open: () => Promise<Transaction>,
  changes: Changes,
  allowProtected: readonly string[],
): Promise<CommitReport> {
  const transaction = await open();
  try {
    await remove(transaction, changes.going);
    const unpacked = changes.hasArchive ? unpack(transaction, changes.archive) : undefined;
    const fault = await unpacked?.then(
      () => undefined,
      (error: unknown) => ({ error }),
    );
    // What the host has put in the way since keeps it from being unpacked: then that is why.
    const isInTheWay =
      (fault?.error as { code?: unknown } | undefined)?.code === "ERR_SANDBOX_SETUP";
    if (fault && !isInTheWay) throw fault.error;
    await expectNoConflicts(transaction, await changes.conflicts());
    if (fault) throw fault.error;
    return await transaction.commit({ allowProtected });
  } finally {
    await transaction.discard();
  }
}
