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
 * How long runs may go on without being renewed: see the type's own words. It counts from when it is made, and
 * belongs to the Node environment (the main thread, or a worker) that has made it. Nothing keeps the process
 * alive for it, and nothing is to be closed.
 */
export class Lease implements LeaseType {
  readonly #handle: LeaseHandle;

  /** @throws TypeError or RangeError on a wrong option; SandboxError where there is no addon. */
  constructor(options: LeaseOptions) {
    this.#handle = makeHandle(options);
  }

  get ms(): number {
    return this.#handle.term();
  }

  get expired(): boolean {
    return this.#handle.hasExpired();
  }

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
