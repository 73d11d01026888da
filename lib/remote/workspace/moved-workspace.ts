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
  /** Absolute; what is in it is sent to workers. */
  directory: string;
  /**
   * Paths that code on this host runs by itself (`.git/hooks`, `.envrc` …), and that runs may change all
   * the same, with all below them. Default none: who controls a worker could run code here by them.
   */
  allowProtected?: readonly string[] | undefined;
  /** Where the transactions are kept by which changes come back, as `directory` of `openTransaction`. */
  transactions?: string | undefined;
  /** How these are made, as `backend` of `openTransaction`. Default "auto". */
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

/** What was sent for one run. */
export type Brought = {
  /** Entries that the workspace had. */
  readonly entries: number;
  /** Of its files. */
  readonly bytes: number;
  /** FIFOs, sockets and devices, which stay. */
  readonly skipped: readonly string[];
  /**
   * After the run: takes what it has changed, and brings it into the directory by a transaction: all of
   * it or nothing. The exchange is over then. What the host has changed meanwhile, since the workspace
   * was sent, is a conflict.
   *
   * @throws (rejects) TransactionError ERR_TRANSACTION_CONFLICT, or ERR_TRANSACTION_PROTECTED where one
   * is protected; WorkspaceError where the exchange is cut, or the worker has sent what it may not;
   * SandboxError where there can be no transaction. In all cases nothing has changed.
   */
  take(): Promise<CommitReport | undefined>;
  /** Ends the exchange without any changes: of a run that was lost. Does nothing after `take`. */
  abandon(reason: string): Promise<void>;
};

/**
 * The caller's end: a directory whose contents go to a worker with each run, as they are then, and come
 * back changed. Several runs may go on at once: each works on what it was sent, and does not see what the
 * others change.
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

  /** @throws TypeError on a wrong option. */
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

  /** The thread may have died since, and its state with it. */
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
   * Brings the workspace, as it is now, to the worker at the other end of a port.
   * @throws (rejects) WorkspaceError; an Error of `node:fs` where there is no such directory.
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

  /** Ends what goes on. Later calls reject. */
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
 * Brings what a worker has changed into the host's directory, by a transaction: all of it or nothing, and
 * nothing where the host has changed the same since. It is unpacked by a tar in a sandbox, which can write
 * to the transaction alone, so that no name, link or size of another machine's is the host's to fear.
 */

const kTar = ["tar", "-x", "-p", "-m", "-o", "-f", "-"];
const kMostSaid = 500;

/** What has come back, by those who have it. */
type Changes = {
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
