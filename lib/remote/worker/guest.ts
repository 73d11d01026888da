/** What a worker runs for a caller. */

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
  ResumeOptions,
  TransactionOptions,
} from "../../../types/transaction-options.js";
import type { Lease } from "../../runners/lease.js";
import type { WirePort } from "../wire/channel.js";
import type { RunKind, ToWorker, WireErrorShape } from "../wire/messages.js";
import type { StreamNumber } from "./streams.js";

/** Where commands are run: a runner, a session, a transaction. */
export type Place = {
  exec(input: NativeExecInput): Promise<SandboxedExecResult>;
  spawn(input: NativeSpawnInput): Promise<SandboxProcess>;
  execBatch?(
    commands: readonly (NativeExecInput | string[])[],
    options?: BatchOptions,
  ): Promise<SandboxedExecResult[]>;
};

/** What a guest has of its worker. */
export type Host = {
  /** Ends what it starts when its caller is not heard of. */
  lease: Lease;
  /** Bytes of each stream that its caller takes at once. */
  credit: number;
  /** Somebody looks at the output as it comes. */
  isLive: boolean;
  /** It was ended before it has begun, and is not to be started. */
  isAborted(): boolean;
  /** It was started; of a session or transaction what it is. */
  began(value?: unknown): void;
  out(stream: StreamNumber, at: number, bytes: Uint8Array): void;
  /** What was to be looked at has gone: what goes now is what is kept. */
  keptFollows(): void;
  taken(bytes: number): void;
  inputClosed(): void;
};

/** Why a session or transaction is over that was dropped. */
export const kDropped = "its worker heard nothing of its caller for longer than a lease";

/** How it ended. */
export type GuestEnd = {
  value?: unknown;
  error?: WireErrorShape;
  /** Bytes of each stream that were sent before. */
  sent: [number, number];
  /** Of these some were not, since nobody took them. */
  isCut?: boolean;
  /** Output that goes with the end: a pair, or for a batch one of each command. */
  rest: readonly Uint8Array[];
};

/** One thing that runs. Never throws. */
export interface Guest {
  /** Resolves once all of it is known to have ended; never rejects. */
  readonly done: Promise<GuestEnd>;
  /** Ends it. */
  abort(): void;
  /** As `abort`, for a caller who takes nothing any more. */
  drop?(): void;
  /** What the caller says to it while it runs. */
  receive(message: ToWorker, body: Uint8Array): void;
  /** An operation on it. */
  call(operation: string, args: readonly unknown[]): Promise<unknown>;
  /** Commands may be run in it: a session or a transaction, once it has begun. */
  readonly place?: Place | undefined;
}

/** A runner, as a worker uses it. */
export type RunnerPlace = Place & {
  /** Leads to the workspace. */
  readonly shadowDir: string;
  openSession(options: SessionOptions): Promise<NativeSession>;
  openTransaction(options: TransactionOptions): Promise<Transaction>;
  resumeTransaction(id: string, options?: ResumeOptions): Promise<Transaction>;
  transactions(): Promise<ListedTransaction[]>;
  warm(): Promise<number>;
  explain(input: NativeExecInput): Promise<BubblewrapExplanation>;
};

/** What was asked for, under the worker's own policy. */
export type Granted = {
  place: RunnerPlace;
  /** The input with the limits that the policy sets. @throws what refuses it */
  bounded(input: object, kind: RunKind): object;
  /** All that ran in it has ended: what has to be done before its caller is told. Never rejects. */
  finish?(): Promise<void>;
  /** The run has ended. */
  release(): void;
};

/** What a worker has to run commands in. */
export interface Places {
  /**
   * The place for what a caller asks for.
   * @param openPort asks the caller for the workspace, of one that is moved.
   * @throws (rejects) TypeError for what is wrong, or more than the worker's policy allows.
   */
  find(
    tenant: string,
    policy: unknown,
    workspace: unknown,
    openPort: () => WirePort,
  ): Promise<Granted>;
  /** How many runs a tenant may have at once; undefined: as many as there are slots. */
  slotsOf?(tenant: string): number | undefined;
  /** Sandboxes that stand, so that the first runs are quick. */
  warm?(): Promise<void>;
  close(): Promise<void>;
}
