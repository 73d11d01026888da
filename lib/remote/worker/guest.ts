/** Guests: the runs of callers on a worker. */

import type {
  BubblewrapExplanation,
  NativeExecInput,
  NativeSpawnInput,
  SandboxedExecResult,
  SandboxProcess,
} from "../../../types/public.js";
import type { BatchOptions, NativeSession, SessionOptions } from "../../../types/session.js";
import type { Transaction } from "../../../types/transaction.js";
import type {
  ListedTransaction,
  ListTransactionsOptions,
  ResumeOptions,
  TransactionOptions,
} from "../../../types/transaction-options.js";
import type { Lease } from "../../runners/lease.js";
import type { WirePort } from "../wire/channel.js";
import type { RunKind, ToWorker, WireErrorShape } from "../wire/messages.js";
import type { StreamNumber } from "./streams.js";

/** The place that runs commands: a runner, a session or a transaction. */
export type Place = {
  exec(input: NativeExecInput): Promise<SandboxedExecResult>;
  spawn(input: NativeSpawnInput): Promise<SandboxProcess>;
  execBatch?(
    commands: readonly (NativeExecInput | string[])[],
    options?: BatchOptions,
  ): Promise<SandboxedExecResult[]>;
};

/** The worker's interface for a guest. */
export type Host = {
  /** Ends the guest's commands when its caller is silent for too long. */
  lease: Lease;
  /** Bytes of each stream that the caller accepts at once. */
  credit: number;
  /** True if the caller reads the output as it arrives. */
  isLive: boolean;
  /** True if the run was aborted before it began, and must not start. */
  isAborted(): boolean;
  /** Reports the start; for a session or transaction with its properties. */
  began(value?: unknown): void;
  out(stream: StreamNumber, at: number, bytes: Uint8Array): void;
  /** Marks the end of the live output: the kept output follows. */
  keptFollows(): void;
  taken(bytes: number): void;
  inputClosed(): void;
};

/** The reason given for a dropped session or transaction. */
export const kDropped = "its worker heard nothing of its caller for longer than a lease";

/** The reason given for a session or transaction that was open when its worker had to end. */
export const kDrained = "its worker was shut down, and had waited for it as long as it may";

/** The end of a guest. */
export type GuestEnd = {
  value?: unknown;
  error?: WireErrorShape;
  /** Bytes of each stream sent before the end. */
  sent: [number, number];
  /** True if some of these bytes were dropped instead of sent. */
  isCut?: boolean;
  /** Output that goes with the end: both streams, or for a batch one item per command. */
  rest: readonly Uint8Array[];
};

/** One run on a worker. Its methods never throw. */
export interface Guest {
  /** Resolves once all of it is known to have ended; never rejects. */
  readonly done: Promise<GuestEnd>;
  /** Ends the run. */
  abort(): void;
  /** As `abort`, when the caller receives nothing any more. */
  drop?(): void;
  /** Ends a session or transaction; its caller hears the reason. */
  conclude?(why: string): void;
  /** Handles a message of the caller while the guest runs. */
  receive(message: ToWorker, body: Uint8Array): void;
  /** Calls an operation on the guest. */
  call(operation: string, args: readonly unknown[]): Promise<unknown>;
  /** The place for commands inside a session or transaction, once it has begun. */
  readonly place?: Place | undefined;
}

/** A runner, as a worker uses it. */
export type RunnerPlace = Place & {
  /** Path that leads to the workspace. */
  readonly shadowDir: string;
  openSession(options: SessionOptions): Promise<NativeSession>;
  openTransaction(options: TransactionOptions): Promise<Transaction>;
  resumeTransaction(id: string, options?: ResumeOptions): Promise<Transaction>;
  transactions(options?: ListTransactionsOptions): Promise<ListedTransaction[]>;
  warm(): Promise<number>;
  explain(input: NativeExecInput): Promise<BubblewrapExplanation>;
};

/** A place for a run, under the worker's own policy. */
export type Granted = {
  place: RunnerPlace;
  /**
   * Returns the input with the policy's limits.
   * @throws the refusal of the policy
   */
  bounded(input: object, kind: RunKind): object;
  /** Finishes the place after all its commands ended, before the caller gets the end. Never rejects. */
  finish?(): Promise<void>;
  /** Releases the place after the run has ended. */
  release(): void;
};

/** The places in which a worker can run commands. */
export interface Places {
  /**
   * Returns the place for a caller's request.
   * @param openPort asks the caller for the workspace, if it is a moved one
   * @throws (rejects) TypeError for a request that is malformed or beyond the worker's policy
   */
  find(
    tenant: string,
    policy: unknown,
    workspace: unknown,
    openPort: () => WirePort,
  ): Promise<Granted>;
  /** Most concurrent runs of a tenant; undefined: as many as the worker has slots. */
  slotsOf?(tenant: string): number | undefined;
  /**
   * Makes a sandbox under the policy, for nobody.
   * @throws (rejects) an Error with the reason if there can be none
   */
  canary?(): Promise<void>;
  /** Prewarms sandboxes, so that the first runs start fast. */
  warm?(): Promise<void>;
  close(): Promise<void>;
}
