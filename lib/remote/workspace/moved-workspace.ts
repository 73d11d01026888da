import { realpath } from "node:fs/promises";
import type { Writable } from "node:stream";

import type { CommitReport, Transaction } from "../../../types/transaction.js";
import { invalidType, SandboxError, TransactionError } from "../../errors.js";
import { expectFields, type FieldsOf } from "../../fields.js";
import { BubblewrapNativeRunner } from "../../runners/bubblewrap.js";
import { some } from "../../runners/transactions/changes.js";
import type { Bounds } from "./content/manifest.js";
import type { ExchangePort } from "./exchange.js";
import { type BoundsOptions, boundsOf, FilesThread } from "./thread/files-thread.js";

/** Options of a workspace that is moved by content. */
export type MovedWorkspaceOptions = BoundsOptions & {
  /** Absolute path of the directory whose contents are sent to workers. */
  directory: string;
  /**
   * Paths that programs on this host execute by themselves (`.git/hooks`, `.envrc` …) and that runs may change
   * nevertheless, including all entries below them. Default none: a malicious worker could run code on this host
   * through them.
   */
  allowProtected?: readonly string[] | undefined;
  /** Directory of the transactions that apply returned changes, as `directory` of `openTransaction`. */
  transactions?: string | undefined;
  /** Their backend, as `backend` of `openTransaction`. Default "auto". */
  backend?: "auto" | "overlay" | "copy" | undefined;
};

const kFields: FieldsOf<MovedWorkspaceOptions> = {
  directory: true,
  allowProtected: true,
  transactions: true,
  backend: true,
  maxEntries: true,
  maxBytes: true,
};

/** The workspace that was sent for one run. */
export type Brought = {
  /** Number of entries that were sent. */
  readonly entries: number;
  /** Bytes of all files. */
  readonly bytes: number;
  /** FIFOs, sockets and devices, which are not sent. */
  readonly skipped: readonly string[];
  /**
   * After the run: receives its changes, and commits them to the directory in a transaction, all or nothing. Ends the
   * exchange. A path that the host has changed since the workspace was sent is a conflict.
   *
   * @throws (rejects) TransactionError ERR_TRANSACTION_CONFLICT, or ERR_TRANSACTION_PROTECTED for a protected path;
   * WorkspaceError if the exchange is cut, or the worker has sent something it must not; SandboxError if no transaction
   * is possible. In all cases the directory is unchanged.
   */
  take(): Promise<CommitReport | undefined>;
  /** Ends the exchange without changes, for a run that was lost. Does nothing after `take`. */
  abandon(reason: string): Promise<void>;
};

/**
 * The caller's end: a directory whose current contents go to a worker with each run, and come back changed. Runs may
 * overlap: each works on the contents that it was sent, and does not see the changes of the others.
 */
export class MovedWorkspace {
  readonly #directory: string;
  readonly #allowProtected: readonly string[];
  readonly #bounds: Bounds;
  readonly #open: () => Promise<Transaction>;
  readonly #runner: BubblewrapNativeRunner;
  #source: Promise<number> | undefined;
  #thread: FilesThread | undefined;
  #committing: Promise<unknown> = Promise.resolve();

  /** @throws TypeError on a wrong option */
  constructor(options: MovedWorkspaceOptions) {
    expectFields(options, "workspace", kFields);
    const { directory, allowProtected = [], transactions, backend = "auto" } = options;
    if (typeof directory !== "string")
      throw invalidType("workspace.directory", "a string", directory);
    const areNames = Array.isArray(allowProtected) && allowProtected.every(isString);
    if (!areNames)
      throw invalidType("workspace.allowProtected", "an array of strings", allowProtected);
    this.#directory = directory;
    this.#allowProtected = [...allowProtected];
    this.#bounds = boundsOf(options);
    const runner = new BubblewrapNativeRunner({ shadowDir: directory, prewarm: 0, clone: "never" });
    this.#runner = runner;
    const opened = { backend, ...(transactions !== undefined && { directory: transactions }) };
    this.#open = () => runner.openTransaction(opened);
  }

  /** Returns the number of the source, which is opened again after the thread has died. */
  async #sourceIn(thread: FilesThread): Promise<number> {
    if (this.#thread !== thread || this.#source === undefined) {
      this.#thread = thread;
      this.#source = realpath(this.#directory).then((directory) =>
        thread.call("caller", "openSource", { directory, bounds: this.#bounds }),
      );
      this.#source.catch(() => {
        this.#source = undefined;
      });
    }
    return this.#source;
  }

  /**
   * Sends the workspace, as it is now, to the worker at the other end of a port.
   * @throws (rejects) WorkspaceError; an Error of `node:fs` if the directory does not exist
   */
  async bring(port: ExchangePort): Promise<Brought> {
    const thread = FilesThread.get();
    const source = await this.#sourceIn(thread);
    const { exchange, close } = await thread.openExchange(port);
    try {
      const brought = await thread.call("caller", "bring", { source, exchange });
      return this.#tripOf(thread, brought, close);
    } catch (error) {
      close();
      throw error;
    }
  }

  #tripOf(
    thread: FilesThread,
    {
      trip,
      ...reported
    }: { trip: number; entries: number; bytes: number; skipped: readonly string[] },
    close: () => void,
  ): Brought {
    let isOver = false;
    const end = async (work: () => Promise<void>) => {
      if (isOver) return;
      isOver = true;
      try {
        await work();
      } finally {
        close();
      }
    };
    const settle = (committed: boolean) =>
      end(async () => {
        await thread.call("caller", "settle", { trip, committed });
      });
    const take = async () => {
      try {
        const report = await this.#take(thread, trip);
        await settle(true);
        return report;
      } catch (error) {
        await settle(false);
        throw error;
      }
    };
    const abandon = (reason: string) =>
      end(async () => {
        await thread.call("caller", "abandon", { trip, reason });
      });
    return { ...reported, take, abandon };
  }

  async #take(thread: FilesThread, trip: number): Promise<CommitReport | undefined> {
    const reported = await thread.call("caller", "receiveDelta", { trip });
    if (reported.removed + reported.set === 0) return undefined;
    const changes: Changes = {
      going: reported.going,
      hasArchive: reported.set > 0,
      archive: async (write) => {
        const channel = thread.bytesChannel(write);
        await thread.call("caller", "archive", { trip, channel }, channel);
      },
      conflicts: () => thread.call("caller", "conflicts", { trip }),
    };
    const brought = this.#committing.then(() => bringIn(this.#open, changes, this.#allowProtected));
    this.#committing = brought.catch(() => {});
    return brought;
  }

  /** Aborts running commands. Later calls reject. */
  async close(): Promise<void> {
    await this.#runner.close();
    if (this.#thread && this.#source) {
      const source = await this.#source.catch(() => undefined);
      if (source !== undefined) await this.#thread.call("caller", "closeSource", { source });
    }
  }
}

const isString = (value: unknown) => typeof value === "string";

/**
 * Commits a worker's changes to the host's directory in a transaction: all or nothing, and nothing if the host has
 * changed the same paths since. A sandboxed tar, which can write only to the transaction, unpacks them, so names, links
 * and sizes of the other machine can't harm the host.
 */

const kTar = ["tar", "-x", "-p", "-m", "-o", "-f", "-"];
const kMostSaid = 500;

/** Access to the changes that have come back. */
type Changes = {
  /** Paths to remove before the archive is unpacked, each with all entries below it. */
  readonly going: readonly string[];
  /** True if an archive has to be unpacked. */
  readonly hasArchive: boolean;
  /** Writes the archive; rejects if it is not complete. */
  archive(write: (bytes: Uint8Array) => Promise<void>): Promise<void>;
  /** Returns the paths that the host has changed since the workspace was sent. */
  conflicts(): Promise<string[]>;
};

/** Returns a function that writes to a stream, and resolves when the bytes are taken. */
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
  // A path that could not be unpacked has no change.
  const changes = await transaction.changes({ paths: [...paths] }).catch(() => []);
  const conflicts = changes.map((change) => ({ ...change, conflict: true as const }));
  const message = `the host has changed ${some(paths)} since the workspace was sent`;
  throw new TransactionError(message, "ERR_TRANSACTION_CONFLICT", paths, conflicts);
}

/** Removes paths. A path that is already gone is a conflict, found later. */
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
 * @param open opens the transaction, which is discarded at the end
 * @throws (rejects) TransactionError ERR_TRANSACTION_CONFLICT and ERR_TRANSACTION_PROTECTED as `commit`; SandboxError
 * if no transaction is possible, or tar is missing; the errors of `changes`. The directory is then unchanged.
 */
async function bringIn(
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
    // A path that the host has changed since may block unpacking: report the conflict rather than the setup error.
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
