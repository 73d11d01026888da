/** The public types of leases; shipped and re-exported like public.d.ts. */

/** Options of a lease. */
export type LeaseOptions = {
  /** Milliseconds from creation or renewal until expiry: an integer from 1 to 2 147 483 647. */
  ms: number;
};

/**
 * A time limit that any number of runs can share: all their processes are killed if the lease is not renewed
 * for `ms` milliseconds. The launcher of each run enforces it on its own, so it also holds while this process
 * is stopped (SIGSTOP), swapped out or kept from running. Its clock continues while the machine is suspended
 * and is not affected by setting the time of day (CLOCK_BOOTTIME).
 */
export interface Lease {
  /** The duration in milliseconds that the lease was created with. */
  readonly ms: number;
  /** True if the lease has expired; it never becomes false again. */
  readonly expired: boolean;
  /**
   * Extends the lease to `ms` milliseconds from now, for all its runs. Returns false if it had already
   * expired; it stays expired. Renew it several times per `ms`: a renewal that reaches a launcher after
   * expiry is too late. The outcome of a run, not this return value, tells how the run ended.
   */
  renew(): boolean;
}
