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
 * What runs may be given that are to go on only while somebody wants them: all their processes are killed when
 * nobody has renewed it for its term, also while this process is stopped (SIGSTOP), swapped out or kept from
 * running. It counts from when it is made, and belongs to the Node environment (the main thread, or a worker) that has made it. Nothing keeps the process
 * alive for it, and nothing is to be closed.
 */
export class Lease implements LeaseType {
  readonly #handle: LeaseHandle;

  /** @throws TypeError or RangeError on a wrong option; SandboxError where there is no addon. */
  constructor(options: LeaseOptions) {
    this.#handle = makeHandle(options);
  }

  /** Its term in milliseconds. */
  get ms(): number {
    return this.#handle.term();
  }

  /** Whether its end has passed; then it stays so. */
  get expired(): boolean {
    return this.#handle.hasExpired();
  }

  /**
   * Another term from now on, for all its runs. False: it had expired. Several times in a term is well: what a
   * launcher hears after the end comes too late.
   */
  renew(): boolean {
    return this.#handle.renew();
  }

  static {
    handleOf = (lease) => lease.#handle;
  }
}

/** The addon's own of a lease; anything else as it is, which the addon refuses. */
export function leaseHandle(lease: LeaseType | undefined): LeaseHandle | LeaseType | undefined {
  return lease instanceof Lease ? handleOf(lease) : lease;
}
