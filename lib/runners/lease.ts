import type { LeaseHandle } from "../../types/addon.js";
import type { LeaseOptions, Lease as LeaseType } from "../../types/lease.js";
import { fromNative } from "../errors.js";
import { loadAddon } from "../native.js";

function makeHandle(options: LeaseOptions): LeaseHandle {
  const addon = loadAddon();
  try {
    return new addon.Lease(options);
  } catch (error) {
    throw fromNative(error);
  }
}

let handleOf: (lease: Lease) => LeaseHandle;

/**
 * A time limit for runs: all their processes are killed if it is not renewed within its term, even while this
 * process is stopped (SIGSTOP), swapped out or kept from running. The term begins when the lease is created.
 * The lease belongs to the Node environment (the main thread, or a worker) that created it. It does not keep
 * the process alive, and needs no closing.
 */
export class Lease implements LeaseType {
  readonly #handle: LeaseHandle;

  /** @throws TypeError or RangeError on an invalid option; SandboxError if the addon is missing. */
  constructor(options: LeaseOptions) {
    this.#handle = makeHandle(options);
  }

  /** The term in milliseconds. */
  get ms(): number {
    return this.#handle.term();
  }

  /** True if the lease has expired; it never becomes false again. */
  get expired(): boolean {
    return this.#handle.hasExpired();
  }

  /**
   * Starts another term now, for all its runs. Returns false if it had already expired. Renew it several
   * times per term: a renewal that reaches a launcher after expiry is too late.
   */
  renew(): boolean {
    return this.#handle.renew();
  }

  static {
    handleOf = (lease) => lease.#handle;
  }
}

/** Returns the addon's handle of a lease; any other value unchanged, which the addon refuses. */
export function leaseHandle(lease: LeaseType | undefined): LeaseHandle | LeaseType | undefined {
  return lease instanceof Lease ? handleOf(lease) : lease;
}
