import { join } from "node:path";

import type { Transaction } from "../../../types/transaction.js";
import type { ExchangePort } from "./exchange.js";
import { reportedChanges } from "./thread/channel.js";
import { type BoundsOptions, boundsOf, FilesThread } from "./thread/files-thread.js";

/** A tree for one run. */
export type Visit = {
  /** The workspace of the run: a transaction is to be opened on it, and nothing to be run without. */
  readonly directory: string;
  /** `directory` for `openTransaction`: on the same file system, and emptied when a worker starts. */
  readonly transactions: string;
  /**
   * After the run: sends what it has changed, and waits for the caller's word. The transaction is gone
   * afterwards: committed to the tree where the caller has the changes and no other run is in the tree,
   * else discarded.
   *
   * @returns whether the caller has the changes.
   * @throws (rejects) WorkspaceError where the exchange was cut, or something can't be moved.
   */
  settle(transaction: Transaction): Promise<{ committed: boolean }>;
  /** Ends the exchange without any changes. To be called when the transaction is gone. */
  abandon(reason: string): Promise<void>;
};

/**
 * The worker's end: workspaces that callers have sent, below one directory, those of each tenant apart.
 * One process has a directory at a time.
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
   * @param root is made where it is missing. Nobody else may write to it.
   * @param options how much one workspace may hold in entries, and all of them together in bytes.
   * @throws (rejects) TypeError on a wrong option; WorkspaceError ERR_WORKSPACE_LOCKED where another
   * process has the directory.
   */
  static async open(root: string, options: BoundsOptions = {}): Promise<WorkerWorkspaces> {
    const bounds = boundsOf(options);
    const thread = FilesThread.get();
    const { cache, runs } = await thread.call("worker", "openCache", { root, bounds });
    return new WorkerWorkspaces(thread, cache, runs);
  }

  /**
   * Takes the workspace of a run from the caller at the other end of a port.
   * @param tenant 1 to 64 letters, digits, `_` or `-`, as the broker has proved it.
   * @throws (rejects) WorkspaceError: then the caller has been told, and no run can be.
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
    // Where the transaction keeps what was changed: docs/transactions.md, "What lies where".
    const kept = transaction.backend === "overlay" ? "upper" : "tree";
    const contents = join(this.#runs, transaction.id, kept);
    return this.#thread.call("worker", "sendChanges", {
      visit,
      contents,
      changes: reportedChanges(changes),
    });
  }

  /** Lets another process have the directory. Not to be called while runs go on. */
  async close(): Promise<void> {
    await this.#thread.call("worker", "closeCache", { cache: this.#cache });
  }
}

/** Into the worker's own tree, where nothing is protected; a tree that it can't go to is read anew. */
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
