import type { BubblewrapExplanation, NativeExecInput } from "../../../types/public.js";
import type { NativeSession, SessionOptions } from "../../../types/session.js";
import type { Transaction } from "../../../types/transaction.js";
import type {
  ListedTransaction,
  ResumeOptions,
  TransactionOptions,
} from "../../../types/transaction-options.js";
import type { RunKind } from "../wire/messages.js";
import type { WirePort } from "../wire/port.js";
import type { Place } from "./guest.js";

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
