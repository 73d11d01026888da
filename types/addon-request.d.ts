/** The types of a call's input to the addon; a part of the contract of addon.d.ts. */

import type { Lease } from "./lease.js";
import type { NativeExecInput, NativeSpawnInput } from "./public.js";

/** A lease in the addon. */
export interface LeaseHandle {
  /** See {@link Lease.renew}. */
  renew(): boolean;
  hasExpired(): boolean;
  /** Returns milliseconds. */
  term(): number;
}

/** A lease as the addon takes it. A lease that lib did not create is passed on unchanged, to be refused. */
export type NativeLease = { lease?: LeaseHandle | Lease | undefined };

/** `exec`'s input without the signal, which lib turns into a call of `abort`. Callbacks must not throw. */
export type NativeRequest = Omit<NativeExecInput, "signal" | "lease"> & NativeLease;

/**
 * Pipes of this process, open until the run has ended: where the command's input comes from, and where its stdout goes.
 * The bytes then never reach JavaScript; of stdout only those that are left when the run ends. Not with `pty`.
 */
export type StreamRelay = { stdin?: number | undefined; stdout?: number | undefined };

/** `spawn`'s input without the signal. */
export type NativeSpawnRequest = Omit<NativeSpawnInput, "signal" | "lease" | "env"> &
  Pick<NativeRequest, "env"> &
  NativeLease & { relay?: StreamRelay | undefined };
