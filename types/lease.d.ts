/** The public types of leases; shipped and re-exported as public.d.ts is. */

/** How long a lease holds. */
export type LeaseOptions = {
  /** Milliseconds from when it is made, or renewed, to its end: an integer from 1 to 2 147 483 647. */
  ms: number;
};

/**
 * What any number of runs may be given: all their processes are killed when nobody has renewed it for `ms`
 * milliseconds. The launcher of each run sees to that by itself, so it holds while this process is stopped
 * (SIGSTOP), swapped out or kept from running, too. Its clock goes on while the machine is suspended, and setting
 * the time of day does not move it (CLOCK_BOOTTIME).
 */
export interface Lease {
  /** The milliseconds that it was made with. */
  readonly ms: number;
  /** Whether its end has passed; then it stays so. */
  readonly expired: boolean;
  /**
   * It holds for another `ms` milliseconds from now on, for all its runs. False: it had expired, and stays so.
   * Renew it several times in `ms`: what a launcher hears after its end comes too late. How a run ended its
   * outcome tells, not this.
   */
  renew(): boolean;
}
