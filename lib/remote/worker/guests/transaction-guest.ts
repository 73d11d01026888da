import { realpath } from "node:fs/promises";

import type { NativeExecInput, WaitForPortOptions } from "../../../../types/public.js";
import type { NativeSession, SessionOptions } from "../../../../types/session.js";
import type { MergeOptions, Transaction } from "../../../../types/transaction.js";
import type {
  ListedTransaction,
  ListTransactionsOptions,
} from "../../../../types/transaction-options.js";
import { invalidValue, SandboxError } from "../../../errors.js";
import { deferred } from "../../deferred.js";
import { kPieceOperation, LongAnswers } from "../../wire/channel.js";
import type { RunKind } from "../../wire/messages.js";
import { errorShape, toPlain } from "../../wire/plain.js";
import {
  type OpenedTransaction,
  readForkCount,
  readForkRuns,
  readRequest,
  readRun,
  type TransactionRequest,
} from "../../wire/transactions.js";
import {
  type Guest,
  type GuestEnd,
  type Host,
  kDropped,
  type Place,
  type RunnerPlace,
} from "../guest.js";

type Bounded = (input: object, kind: RunKind) => object;

const kOfIt = ["commit", "undo", "runs", "warm", "checkpoint", "checkpoints", "rollback"] as const;
const kOfFiles = [
  "read",
  "readText",
  "write",
  "list",
  "stat",
  "mkdir",
  "rename",
  "remove",
] as const;

const kNothing = { sent: [0, 0] as [number, number], rest: [] };

type Request<Way extends TransactionRequest["way"]> = Extract<TransactionRequest, { way: Way }>;

/** A worker's room for further transactions of a caller. */
export type Room = {
  /** Most slots that the caller's tenant can have at once. */
  mostSlots: number;
  /** True if the worker is shutting down. */
  isDraining(): boolean;
};

/** The parts of a worker that a caller's transaction uses. */
export type TransactionNeeds = {
  host: Host;
  bounded: Bounded;
  /** Returns another transaction of the same caller by its run; undefined if there is none. */
  peer(run: number): TransactionGuest | undefined;
  room: Room;
};

function openedOf(transaction: Transaction): OpenedTransaction {
  const { id, parent, backend, backendReason, recovered } = transaction;
  return { id, parent, backend, backendReason, recovered };
}

/** The answer of an operation with two transactions of which the other one has ended. */
export type OtherEnded = { otherEnded: true };

const kOtherEnded: OtherEnded = { otherEnded: true };

/**
 * A transaction in this worker's state directory. It lasts until its caller closes or discards it; if its caller is
 * gone, it is closed and never committed. One that is to be a fork holds its slot first, and is given its transaction
 * when the slots of all forks are held.
 */
export class TransactionGuest implements Guest {
  readonly done: Promise<GuestEnd>;
  readonly #abort = new AbortController();
  readonly #over = deferred<void>();
  readonly #answers = new LongAnswers();
  readonly #needs: TransactionNeeds;
  readonly #runner: RunnerPlace;
  /** Of one that is to be a fork: what it will be a fork of, and its transaction. */
  #forkOf: TransactionGuest | undefined;
  readonly #given = deferred<void>();
  #transaction: Transaction | undefined;
  #why: string | null = null;

  constructor(runner: RunnerPlace, input: unknown, needs: TransactionNeeds) {
    this.#needs = needs;
    this.#runner = runner;
    if (needs.host.isAborted()) this.abort();
    this.done = this.#run(input);
  }

  /** The place for commands inside the transaction. */
  get place(): Transaction | undefined {
    return this.#transaction;
  }

  abort(): void {
    this.#abort.abort();
    this.#over.resolve();
  }

  drop(): void {
    this.#why = kDropped;
    this.abort();
  }

  conclude(why: string): void {
    this.#why = why;
    this.abort();
  }

  receive(): void {}

  async call(operation: string, args: readonly unknown[]): Promise<unknown> {
    if (operation === kPieceOperation) return this.#answers.piece(args[0], args[1]);
    const transaction = this.#transaction;
    if (transaction === undefined) throw new Error("the transaction has not been opened");
    const value = await this.#called(transaction, operation, args);
    if (operation === "discard") this.#over.resolve();
    return this.#answers.answer(value);
  }

  async #called(
    transaction: Transaction,
    operation: string,
    args: readonly unknown[],
  ): Promise<unknown> {
    const own = args.map((each) => each ?? undefined);
    switch (operation) {
      case "discard":
        return transaction.discard();
      case "explain": {
        const input = this.#needs.bounded(own[0] as object, "explain");
        return transaction.explain(input as NativeExecInput);
      }
      case "expectForks":
        return this.#expectForks(readForkCount(own[0]));
      case "fork":
        return this.#fork(transaction, readForkRuns(own[0]), own[1] === true);
      case "changes":
      case "diff": {
        const { since, sinceFork, ...options } = (own[0] ?? {}) as Record<string, unknown>;
        const run = since ?? sinceFork;
        if (run === undefined) return transaction[operation](options);
        const field = since === undefined ? "sinceFork" : "since";
        return this.#with<unknown>(run, field, (other) =>
          transaction[operation]({ ...options, [field]: other }),
        );
      }
      case "merge":
        return this.#with(own[0], "from", (other) =>
          transaction.merge(other, own[1] as MergeOptions | undefined),
        );
      case "adopt":
        return this.#with(own[0], "from", (other) => transaction.adopt(other));
    }
    const ofIt = kOfIt.find((name) => name === operation);
    if (ofIt) return Reflect.apply(transaction[ofIt], transaction, own);
    const { files } = transaction;
    const ofFiles = kOfFiles.find((name) => `files.${name}` === operation);
    if (ofFiles) return Reflect.apply(files[ofFiles], files, own);
    throw new TypeError(`there is no operation ${operation} on a transaction`);
  }

  /** Calls `work` with another transaction of the caller. */
  async #with<Value>(
    run: unknown,
    field: string,
    work: (other: Transaction) => Promise<Value>,
  ): Promise<Value | OtherEnded> {
    const other = this.#needs.peer(readRun(run, field));
    if (other === undefined) return kOtherEnded;
    const transaction = other.#transaction;
    if (transaction === undefined) return kOtherEnded;
    try {
      return await work(transaction);
    } catch (error) {
      const isClosed = (error as { code?: unknown }).code === "ERR_SANDBOX_CLOSED";
      if (isClosed && other.#abort.signal.aborted) return kOtherEnded;
      throw error;
    }
  }

  /** @throws the reason why no slots for that many forks can be had here, however long they wait */
  #expectForks(count: number): void {
    const { mostSlots, isDraining } = this.#needs.room;
    if (isDraining()) {
      throw new SandboxError("the worker is being shut down, and opens no further transaction", {
        code: "ERR_SANDBOX_UNAVAILABLE",
        fix: "commit, or close the transaction and resume it later",
      });
    }
    if (count < mostSlots) return;
    const most = mostSlots - 1;
    const message = `Expected \`count\` to be at most ${most}: the transaction and each fork hold one of ${mostSlots} slots; got ${count}`;
    throw Object.assign(new RangeError(message), { code: "ERR_OUT_OF_RANGE" });
  }

  /** Forks the transaction for the runs that hold the slots of its forks, and gives each of them one. */
  async #fork(
    transaction: Transaction,
    runs: readonly number[],
    quiesce: boolean,
  ): Promise<OpenedTransaction[]> {
    const holders = runs.map((run) => {
      const holder = this.#needs.peer(run);
      if (holder !== undefined && holder.#forkOf === this) return holder;
      throw invalidValue(`the run ${run} holds no slot for a fork of this transaction`);
    });
    for (const holder of holders) holder.#forkOf = undefined; // for this call alone
    const forks = await transaction.fork({ count: runs.length, quiesce });
    const isMissing = holders.some((holder) => holder.#abort.signal.aborted);
    if (isMissing) {
      await Promise.allSettled(forks.map((fork) => fork.discard()));
      const code = this.#abort.signal.aborted ? "ERR_SANDBOX_CLOSED" : "ERR_SANDBOX_UNAVAILABLE";
      throw new SandboxError("the slot of a fork was given back meanwhile", { code });
    }
    forks.forEach((fork, at) => {
      const holder = holders[at] as TransactionGuest;
      holder.#transaction = fork;
      holder.#given.resolve();
    });
    return forks.map(openedOf);
  }

  async #run(given: unknown): Promise<GuestEnd> {
    try {
      const input = readRequest(given);
      if (input.way === "list") {
        const own = await ownOf(this.#runner, { sizes: input.sizes });
        return { value: toPlain(own, "transactions"), ...kNothing };
      }
      const isFork = input.way === "fork";
      const transaction = await (isFork ? this.#awaitFork(input) : this.#open(input));
      if (this.#abort.signal.aborted && !isFork) {
        // The caller does not know of it: discard a new transaction, keep a resumed one.
        await (input.way === "open" ? transaction?.discard() : transaction?.close());
        return { value: null, ...kNothing };
      }
      this.#transaction = transaction;
      if (transaction !== undefined && !isFork) {
        this.#needs.host.began(toPlain(openedOf(transaction), "transaction"));
      }
      await this.#over.promise;
      await transaction?.close();
      return { value: this.#why, ...kNothing };
    } catch (error) {
      return { error: errorShape(error), ...kNothing };
    }
  }

  /** Holds the slot of a fork until it has its transaction. Resolves with undefined if it is ended before. */
  async #awaitFork({ of }: Request<"fork">): Promise<Transaction | undefined> {
    const parent = this.#needs.peer(of);
    if (parent === undefined || parent.#transaction === undefined) {
      throw new SandboxError("the transaction has ended", { code: "ERR_SANDBOX_CLOSED" });
    }
    if (parent.#runner !== this.#runner) {
      throw invalidValue("a fork has the workspace and the policy of its transaction");
    }
    this.#forkOf = parent;
    this.#needs.host.began();
    await Promise.race([this.#given.promise, this.#over.promise]);
    return this.#transaction;
  }

  /** Opens or resumes a transaction. Its directory is the operator's choice. */
  async #open(input: Request<"open"> | Request<"resume">): Promise<Transaction> {
    const runner = this.#runner;
    if (Object.hasOwn(input.options, "directory")) {
      throw invalidValue("`directory` is the worker's own, and can't be given from elsewhere");
    }
    const { signal } = this.#abort;
    if (input.way === "open") return runner.openTransaction({ ...input.options, signal });
    const { id, options } = input;
    const isOwn = (await ownOf(runner)).some((each) => each.id === id);
    if (isOwn) return runner.resumeTransaction(id, options);
    throw invalidValue(`there is no transaction ${JSON.stringify(id)} of this workspace`);
  }
}

/** Returns the transactions of this workspace; those of other workspaces are hidden from the caller. */
async function ownOf(
  runner: RunnerPlace,
  options: ListTransactionsOptions = {},
): Promise<ListedTransaction[]> {
  const workspace = await realpath(runner.shadowDir);
  return (await runner.transactions(options)).filter((each) => each.workspace === workspace);
}

/** A place that can open sessions. */
export type SessionPlace = { openSession(options: SessionOptions): Promise<NativeSession> };

/** A session. It lasts until its caller closes it or is gone, or its own options end it. */
export class SessionGuest implements Guest {
  readonly done: Promise<GuestEnd>;
  #session: NativeSession | undefined;
  #isAborted = false;
  #why: string | undefined;
  place: Place | undefined;

  /** @param peer returns an open session of the same caller by its run */
  constructor(
    runner: SessionPlace,
    input: object,
    host: Host,
    peer: (run: number) => NativeSession | undefined,
  ) {
    if (host.isAborted()) this.abort();
    this.done = this.#run(runner, input, host, peer);
  }

  get session(): NativeSession | undefined {
    return this.#session;
  }

  abort(): void {
    this.#isAborted = true;
    void this.#session?.close().catch(() => {}); // `done` waits for its end
  }

  drop(): void {
    this.#why = kDropped;
    this.abort();
  }

  conclude(why: string): void {
    this.#why = why;
    this.abort();
  }

  receive(): void {}

  async call(operation: string, args: readonly unknown[]): Promise<unknown> {
    const session = this.#session;
    if (session === undefined) throw new Error("the session has not been opened");
    if (operation === "close") return session.close();
    if (operation !== "waitForPort") {
      throw new TypeError(`there is no operation ${operation} on a session`);
    }
    const [port, options] = args as [number, WaitForPortOptions?];
    return session.waitForPort(port, options);
  }

  async #run(
    runner: SessionPlace,
    input: object,
    host: Host,
    peer: (run: number) => NativeSession | undefined,
  ): Promise<GuestEnd> {
    const nothing = { sent: [0, 0] as [number, number], rest: [] };
    try {
      const { from: run, ...options } = input as { from?: unknown };
      const from = run === undefined ? undefined : peer(readRun(run, "from"));
      if (run !== undefined && from === undefined) {
        throw new SandboxError("the session `from` has ended", { code: "ERR_SANDBOX_CLOSED" });
      }
      const session = await runner.openSession({ ...options, ...(from && { from }) });
      this.#session = session;
      if (this.#isAborted) {
        await session.close();
        return { value: await session.ended, ...nothing };
      }
      this.place = {
        exec: (input) => session.exec(input),
        spawn: (input) => session.start(input),
      };
      host.began({ layers: session.layers, shares: session.shares });
      const reason = await session.ended;
      return { value: this.#why ?? reason, ...nothing };
    } catch (error) {
      return { error: errorShape(error), ...nothing };
    }
  }
}
