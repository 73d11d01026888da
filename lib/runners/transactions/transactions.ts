/** The transactions of one runner, which are closed with it. */

import type { OpenedTransaction, TransactionHandle } from "../../../types/addon-transaction.js";
import type { Transaction } from "../../../types/transaction.js";
import type {
  CopyProgress,
  ListedTransaction,
  ListTransactionsOptions,
  ResumeOptions,
  TransactionOptions,
} from "../../../types/transaction-options.js";
import { untilAnswering } from "../../answering-path.js";
import type { AuditSink } from "../../audit-log/sink.js";
import { fromNative, invalidType, SandboxError } from "../../errors.js";
import { copyOptions, expectFields, type FieldsOf } from "../../fields.js";
import { HomeSource } from "../../home/home-view.js";
import { sharedCaches } from "../../home/host-caches.js";
import { TransactionCounts } from "../../metrics/run-metrics.js";
import { loadAddon } from "../../native.js";
import { kProtectedNames, stateDirectory } from "../../protected-paths.js";
import { checkSignal, onAbort } from "../abort.js";
import { membershipOf } from "./membership.js";
import { SpaceBound } from "./space.js";
import { stoppedAtExit } from "./stopped-at-exit.js";
import { type TransactionPolicy, WorkspaceTransaction } from "./transaction.js";

type OpenOptions = Parameters<TransactionHandle["open"]>[0];

const kResumeOptions: FieldsOf<ResumeOptions> = { directory: true, backend: true };
const kOptions: FieldsOf<TransactionOptions> = {
  ...kResumeOptions,
  maxBytes: true,
  onProgress: true,
  signal: true,
};
const kListOptions: FieldsOf<ListTransactionsOptions> = { directory: true, sizes: true };
/** Most bytes of a workspace that is copied, if no other number is given; the addon has the same. */
const kMostCopied = 2 * 1024 ** 3;

/** True for the addon's error of a copy that would exceed `maxBytes`. */
const isTooLargeToCopy = (error: unknown) =>
  error instanceof Error && error.message.includes(" bytes (maxBytes)");
const kCopyNeedsMore = ", and a copy of the workspace needs more than is left";

function namedDirectory(directory: unknown): string {
  if (directory !== undefined && typeof directory !== "string") {
    throw invalidType("directory", "a string", directory);
  }
  return directory ?? stateDirectory("transactions");
}

/**
 * Lists the transactions in a directory, oldest first.
 * @throws (rejects) like `BubblewrapNativeRunner.transactions`.
 */
export async function listTransactions(
  options: ListTransactionsOptions = {},
): Promise<ListedTransaction[]> {
  expectFields(options, "options", kListOptions);
  const { sizes = false } = options;
  if (typeof sizes !== "boolean") throw invalidType("sizes", "a boolean", sizes);
  const directory = namedDirectory(options.directory);
  try {
    const waits = untilAnswering(directory);
    if (waits) await waits;
    const listed = await loadAddon().listTransactions({ directory });
    const measured = sizes ? (await loadAddon().measureTransactions({ directory })).each : [];
    const spaces = new Map(measured.map(({ id, isWhole: _, ...space }) => [id, space]));
    return listed.map(({ id, workspace, createdMs, ...rest }) => {
      const space = spaces.get(id);
      return { id, workspace, createdAt: new Date(createdMs), ...rest, ...(space && { space }) };
    });
  } catch (error) {
    throw fromNative(error);
  }
}

/** Properties that a runner's transactions take from it. */
type TransactionsOf = {
  /** Paths that a commit refuses to change. Default {@link kProtectedNames}. */
  protectedNames?: readonly string[];
  /** Counts their actions. */
  counts?: TransactionCounts;
  /** Records their actions. Default: none. */
  sink?: AuditSink | undefined;
  /** Most bytes that all of one workspace hold together. Default: no bound. */
  maxBytes?: number | undefined;
};

export class Transactions {
  readonly #policy: TransactionPolicy;
  readonly #counts: TransactionCounts;
  readonly #maxBytes: number | undefined;
  /** By their directories. */
  readonly #bounds = new Map<string, SpaceBound>();
  readonly #open = new Set<WeakRef<WorkspaceTransaction>>();
  #isClosed = false;

  /** @param runner the runner's own copy of its options. */
  constructor(runner: TransactionPolicy["runner"], its: TransactionsOf = {}) {
    const {
      protectedNames = kProtectedNames,
      counts = new TransactionCounts(),
      sink,
      maxBytes,
    } = its;
    this.#policy = { runner, protectedNames, sink };
    this.#counts = counts;
    this.#maxBytes = maxBytes;
  }

  /** See `BubblewrapNativeRunner.openTransaction`. */
  async open(options: TransactionOptions = {}): Promise<Transaction> {
    expectFields(options, "options", kOptions);
    const own = copyOptions(options);
    const making = new CopyMaking(own);
    const { maxBytes } = own;
    const wanted = { ...this.#optionsOf(own), ...(maxBytes !== undefined && { maxBytes }) };
    return this.#take(
      wanted.directory,
      async (handle, shared) => {
        const bound = this.#boundOf(wanted.directory);
        const room = (await bound?.expectRoom()) ?? Number.POSITIVE_INFINITY;
        const asked = { ...wanted, ...shared };
        if (room >= (maxBytes ?? kMostCopied)) return making.open(handle, asked);
        return making.open(handle, { ...asked, maxBytes: room }).catch((error: unknown) => {
          throw isTooLargeToCopy(error) ? bound?.full(kCopyNeedsMore) : error;
        });
      },
      (transaction) => transaction.discard(),
    );
  }

  /** See `BubblewrapNativeRunner.resumeTransaction`. */
  async resume(id: string, options: ResumeOptions = {}): Promise<Transaction> {
    expectFields(options, "options", kResumeOptions);
    const wanted = this.#optionsOf(copyOptions(options));
    if (typeof id !== "string") throw invalidType("id", "a string", id);
    return this.#take(
      wanted.directory,
      (handle, shared) => handle.open({ ...wanted, ...shared, resume: id }),
      (transaction) => transaction.close(),
    );
  }

  /** See `BubblewrapNativeRunner.transactions`. */
  async list(options: ListTransactionsOptions = {}): Promise<ListedTransaction[]> {
    this.#expectOpen();
    return listTransactions(options);
  }

  #optionsOf({ directory, backend }: ResumeOptions): OpenOptions {
    const { shadowDir: workspace, bwrapPath } = this.#policy.runner;
    return {
      workspace,
      directory: namedDirectory(directory),
      ...(backend !== undefined && { backend }),
      ...(bwrapPath !== undefined && { bwrapPath }),
    };
  }

  async #take(
    directory: string,
    open: (
      handle: TransactionHandle,
      shared: Pick<OpenOptions, "caches">,
    ) => Promise<OpenedTransaction>,
    leave: (transaction: WorkspaceTransaction) => Promise<void>,
  ): Promise<Transaction> {
    this.#expectOpen();
    try {
      const waits = untilAnswering(this.#policy.runner.shadowDir, directory);
      if (waits) await waits;
      const handle = new (loadAddon().Transaction)();
      const caches = new HomeSource(this.#policy.runner).caches();
      const shared = caches && { caches: sharedCaches(caches.found, caches.home) };
      const opened = await stoppedAtExit(handle, () => open(handle, { ...shared }));
      const resume = (id: string) => this.resume(id, { directory });
      const its = {
        counts: this.#counts,
        directory,
        caches: caches?.found,
        resume,
        // A commit replaces what they have changed: then it is too late to tell what it was.
        othersLooked: () => this.#looked(),
        space: this.#boundOf(directory),
      };
      const transaction = new WorkspaceTransaction(handle, this.#policy, opened, its);
      if (this.#isClosed) await leave(transaction); // it opened while the runner was being closed
      this.#expectOpen();
      this.#open.add(new WeakRef(transaction));
      return transaction;
    } catch (error) {
      throw fromNative(error);
    }
  }

  /** Closes all transactions; no others can be opened afterwards. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled([...this.#open].map((open) => open.deref()?.close()));
  }

  #boundOf(directory: string): SpaceBound | undefined {
    if (this.#maxBytes === undefined) return undefined;
    const { shadowDir } = this.#policy.runner;
    const bound =
      this.#bounds.get(directory) ?? new SpaceBound(this.#maxBytes, shadowDir, directory);
    this.#bounds.set(directory, bound);
    return bound;
  }

  async #looked(): Promise<void> {
    const open = [...this.#open].flatMap((each) => each.deref() ?? []);
    await Promise.all(open.map((each) => membershipOf(each, "transaction").looked()));
  }

  #expectOpen(): void {
    if (!this.#isClosed) return;
    throw new SandboxError("the runner was closed", { code: "ERR_SANDBOX_CLOSED" });
  }
}

/** Opens a transaction, reports the progress of a copy made for it, and can end that copy. */
class CopyMaking {
  readonly #signal: AbortSignal | undefined;
  readonly #onProgress: TransactionOptions["onProgress"];
  #thrown: { error: unknown } | undefined;
  #isOver = false;

  /** @throws TypeError for an invalid signal, and for a callback that is not a function. */
  constructor({ signal, onProgress }: Pick<TransactionOptions, "signal" | "onProgress">) {
    this.#signal = checkSignal(signal);
    if (onProgress !== undefined && typeof onProgress !== "function") {
      throw invalidType("onProgress", "a function", onProgress);
    }
    this.#onProgress = onProgress;
  }

  /**
   * Opens a transaction. Its progress is reported before the transaction is ready.
   * @throws (rejects) the signal's reason, or the error that the callback threw: then no transaction remains.
   */
  async open(handle: TransactionHandle, options: OpenOptions): Promise<OpenedTransaction> {
    this.#signal?.throwIfAborted();
    const unsubscribe = onAbort(this.#signal, () => handle.stop());
    try {
      const opened = await handle.open({
        ...options,
        ...(this.#onProgress && { onProgress: (progress) => this.#tell(progress, handle) }),
      });
      if (opened.copied) this.#tell(opened.copied, handle);
      this.#isOver = true;
      if (this.#signal?.aborted || this.#thrown) await handle.discard();
      this.#expectWanted();
      return opened;
    } catch (error) {
      this.#expectWanted();
      throw error;
    } finally {
      this.#isOver = true;
      unsubscribe();
    }
  }

  #expectWanted(): void {
    if (this.#thrown) throw this.#thrown.error;
    this.#signal?.throwIfAborted();
  }

  /** Never throws into the addon. */
  #tell(progress: CopyProgress, handle: TransactionHandle): void {
    if (this.#isOver || this.#thrown) return;
    try {
      this.#onProgress?.(progress);
    } catch (error) {
      this.#thrown = { error };
      handle.stop();
    }
  }
}
