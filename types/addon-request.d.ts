/** What the addon is given of a call's input; a part of the contract of addon.d.ts. */

import type { Lease } from "./lease.js";
import type { NativeExecInput, NativeSpawnInput } from "./public.js";

/** A lease, in the addon. */
export interface LeaseHandle {
  /** As {@link Lease.renew}. */
  renew(): boolean;
  hasExpired(): boolean;
  /** Milliseconds. */
  term(): number;
}

/** A lease as the addon takes it. What is none of lib's is handed on as it is, to be refused. */
export type NativeLease = { lease?: LeaseHandle | Lease | undefined };

/** `exec`'s input without the signal, which lib turns into `abort`. Callbacks must not throw. */
export type NativeRequest = Omit<NativeExecInput, "signal" | "lease"> & NativeLease;

/** `spawn`'s input without the signal. */
export type NativeSpawnRequest = Omit<NativeSpawnInput, "signal" | "lease"> & NativeLease;
