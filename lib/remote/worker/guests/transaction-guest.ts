import { realpath } from "node:fs/promises";

import type { NativeExecInput, WaitForPortOptions } from "../../../../types/public.js";
import type { NativeSession, SessionOptions } from "../../../../types/session.js";
import type { Transaction } from "../../../../types/transaction.js";
import type {
  ListedTransaction,
  ResumeOptions,
  TransactionOptions,
} from "../../../../types/transaction-options.js";
import { invalidValue } from "../../../errors.js";
import { deferred } from "../../deferred.js";
import { kPieceOperation, LongAnswers } from "../../wire/channel.js";
import type { RunKind } from "../../wire/messages.js";
import { errorShape, toPlain } from "../../wire/plain.js";
import {
  type Guest,
  type GuestEnd,
  type Host,
  kDropped,
  type Place,
  type RunnerPlace,
} from "../guest.js";

/** A caller's request: open a new transaction, resume one on this worker, or list those on this worker. */
export type TransactionInput =
  | { way: "open"; options: TransactionOptions }
  | { way: "resume"; id: string; options: ResumeOptions }
  | { way: "list" };

type Bounded = (input: object, kind: RunKind) => object;

const kOfIt = [
  ...["changes", "diff", "commit", "undo", "runs", "warm"],
  ...["checkpoint", "checkpoints", "rollback"],
] as const;
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

/**
 * A transaction in this worker's state directory. It lasts until its caller closes or discards it; if its caller is
 * gone, it is closed and never committed.
 */
export class TransactionGuest implements Guest {
  readonly done: Promise<GuestEnd>;
  readonly #abort = new AbortController();
  readonly #over = deferred<void>();
  readonly #answers = new LongAnswers();
  readonly #bounded: Bounded;
  #transaction: Transaction | undefined;
  #why: string | null = null;

  constructor(runner: RunnerPlace, input: TransactionInput, bounded: Bounded, host: Host) {
    this.#bounded = bounded;
    if (host.isAborted()) this.abort();
    this.done = this.#run(runner, input, host);
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
    if (operation === "discard") return transaction.discard();
    if (operation === "explain") {
      return transaction.explain(this.#bounded(own[0] as object, "explain") as NativeExecInput);
    }
    const ofIt = kOfIt.find((name) => name === operation);
    if (ofIt) return Reflect.apply(transaction[ofIt], transaction, own);
    const { files } = transaction;
    const ofFiles = kOfFiles.find((name) => `files.${name}` === operation);
    if (ofFiles) return Reflect.apply(files[ofFiles], files, own);
    throw new TypeError(`there is no operation ${operation} on a transaction`);
  }

  async #run(runner: RunnerPlace, input: TransactionInput, host: Host): Promise<GuestEnd> {
    try {
      if (input.way === "list") {
        return { value: toPlain(await ownOf(runner), "transactions"), ...kNothing };
      }
      const transaction = await this.#open(runner, input);
      if (this.#abort.signal.aborted) {
        // The caller does not know of it: discard a new transaction, keep a resumed one.
        await (input.way === "open" ? transaction.discard() : transaction.close());
        return { value: null, ...kNothing };
      }
      this.#transaction = transaction;
      const { id, parent, backend, backendReason, recovered } = transaction;
      host.began(toPlain({ id, parent, backend, backendReason, recovered }, "transaction"));
      await this.#over.promise;
      await transaction.close();
      return { value: this.#why, ...kNothing };
    } catch (error) {
      return { error: errorShape(error), ...kNothing };
    }
  }

  /** Opens or resumes a transaction. Its directory is the operator's choice. */
  async #open(
    runner: RunnerPlace,
    input: Exclude<TransactionInput, { way: "list" }>,
  ): Promise<Transaction> {
    if (input.options.directory !== undefined) {
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
async function ownOf(runner: RunnerPlace): Promise<ListedTransaction[]> {
  const workspace = await realpath(runner.shadowDir);
  return (await runner.transactions()).filter((each) => each.workspace === workspace);
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

  constructor(runner: SessionPlace, options: SessionOptions, host: Host) {
    if (host.isAborted()) this.abort();
    this.done = this.#run(runner, options, host);
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

  async #run(runner: SessionPlace, options: SessionOptions, host: Host): Promise<GuestEnd> {
    const nothing = { sent: [0, 0] as [number, number], rest: [] };
    try {
      const session = await runner.openSession(options);
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
