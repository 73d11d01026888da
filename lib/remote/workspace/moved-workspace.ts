import { realpath } from "node:fs/promises";

import type { CommitReport, Transaction } from "../../../types/transaction.js";
import { invalidType } from "../../errors.js";
import { expectFields, type FieldsOf } from "../../fields.js";
import { BubblewrapNativeRunner } from "../../runners/bubblewrap.js";
import { type BoundsOptions, boundsOf } from "./bounds.js";
import { bringIn, type Changes } from "./changes/bring-in.js";
import type { Bounds } from "./content/manifest.js";
import type { ExchangePort } from "./exchange.js";
import { FilesThread } from "./thread/files-thread.js";

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
    { trip, ...told }: { trip: number; entries: number; bytes: number; skipped: readonly string[] },
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
    return { ...told, take, abandon };
  }

  async #take(thread: FilesThread, trip: number): Promise<CommitReport | undefined> {
    const told = await thread.call("caller", "receiveDelta", { trip });
    if (told.removed + told.set === 0) return undefined;
    const changes: Changes = {
      going: told.going,
      hasArchive: told.set > 0,
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
