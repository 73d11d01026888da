import { join } from "node:path";

import type { Transaction } from "../../../types/transaction.js";
import type { ExchangePort } from "./exchange.js";
import { reportedChanges } from "./thread/channel.js";
import { type BoundsOptions, boundsOf, FilesThread } from "./thread/files-thread.js";

/** A tree for one run. */
export type Visit = {
  /** The workspace of the run. Commands must run in a transaction on it. */
  readonly directory: string;
  /** `directory` for `openTransaction`: on the same file system, and emptied when a worker starts. */
  readonly transactions: string;
  /**
   * After the run: sends its changes, and waits for the caller's verdict. Ends the transaction: commits it to the tree
   * if the caller has the changes and no other run uses the tree, and discards it otherwise.
   *
   * @returns `committed`: true if the caller has the changes
   * @throws (rejects) WorkspaceError if the exchange was cut, or an entry can't be moved
   */
  settle(transaction: Transaction): Promise<{ committed: boolean }>;
  /** Ends the exchange without changes. Call it after the transaction has ended. */
  abandon(reason: string): Promise<void>;
};

/**
 * The worker's end: workspaces received from callers, below one directory, separate for each tenant. Only one process
 * can use a directory at a time.
 */
export class WorkerWorkspaces {
  readonly #thread: FilesThread;
  readonly #cache: number;
  readonly #runs: string;

  private constructor(thread: FilesThread, cache: number, runs: string) {
    this.#thread = thread;
    this.#cache = cache;
    this.#runs = runs;
  }

  /**
   * @param root made if it does not exist; no other program may write to it
   * @param options most entries of one workspace, and most bytes of all of them together
   * @throws (rejects) TypeError on a wrong option; WorkspaceError ERR_WORKSPACE_LOCKED if another process uses the
   * directory
   */
  static async open(root: string, options: BoundsOptions = {}): Promise<WorkerWorkspaces> {
    const bounds = boundsOf(options);
    const thread = FilesThread.get();
    const { cache, runs } = await thread.call("worker", "openCache", { root, bounds });
    return new WorkerWorkspaces(thread, cache, runs);
  }

  /**
   * Receives the workspace of a run from the caller at the other end of a port.
   * @param tenant 1 to 64 letters, digits, `_` or `-`, as proved by the broker
   * @throws (rejects) WorkspaceError: the caller has received the error, and the run can't start
   */
  async accept(tenant: string, port: ExchangePort): Promise<Visit> {
    const thread = this.#thread;
    const { exchange, close } = await thread.openExchange(port);
    try {
      const asked = { cache: this.#cache, tenant, exchange };
      const { visit, directory } = await thread.call("worker", "accept", asked);
      return this.#visitOf(visit, directory, close);
    } catch (error) {
      close();
      throw error;
    }
  }

  #visitOf(visit: number, directory: string, close: () => void): Visit {
    const thread = this.#thread;
    const transactions = this.#runs;
    let isOver = false;
    const release = (isDone: boolean) => thread.call("worker", "release", { visit, isDone });
    const settle = async (transaction: Transaction) => {
      isOver = true;
      let isDone = false;
      try {
        const { committed, isOwn } = await this.#send(visit, transaction);
        if (committed && isOwn) isDone = await commit(transaction);
        return { committed };
      } finally {
        try {
          await transaction.discard();
        } finally {
          await release(isDone);
          close();
        }
      }
    };
    const abandon = async (reason: string) => {
      if (isOver) return;
      isOver = true;
      try {
        await thread.call("worker", "abandon", { visit, reason });
      } finally {
        close();
      }
    };
    return { directory, transactions, settle, abandon };
  }

  async #send(visit: number, transaction: Transaction) {
    const changes = await transaction.changes().catch(async (error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error);
      await this.#thread.call("worker", "fail", { visit, reason });
      throw error;
    });
    // The directory in which the transaction keeps changed entries: docs/transactions.md, "What lies where".
    const kept = transaction.backend === "overlay" ? "upper" : "tree";
    const contents = join(this.#runs, transaction.id, kept);
    return this.#thread.call("worker", "sendChanges", {
      visit,
      contents,
      changes: reportedChanges(changes),
    });
  }

  /** Lets another process use the directory. Must not be called while runs go on. */
  async close(): Promise<void> {
    await this.#thread.call("worker", "closeCache", { cache: this.#cache });
  }
}

/**
 * Commits to the worker's own tree, where no path is protected. Returns false on failure; the tree is then read anew.
 */
async function commit(transaction: Transaction): Promise<boolean> {
  try {
    const paths = (await transaction.changes({ details: true })).filter(
      (change) => change.protected,
    );
    await transaction.commit({ allowProtected: paths.map(({ path }) => path) });
    return true;
  } catch {
    return false;
  }
}
