/** What a worker tells of itself: figures at one moment, and counts since its start. */

/** Of the broker's connection. "closed": it will not come back. */
export type BrokerConnectionState = "connected" | "reconnecting" | "closed";

/** Plain data; made anew each time it is asked for. */
export type WorkerState = {
  /** The worker's name, and the pool that it serves. */
  name: string;
  pool: string;
  connection: BrokerConnectionState;
  /** It takes no more runs, and ends when those under way have ended. */
  isDraining: boolean;
  /** Runs that it can have at once. */
  slots: number;
  /** Runs that it has, by tenant. */
  running: Readonly<Record<string, number>>;
  /** Callers that wait for a slot, by tenant. */
  waiting: Readonly<Record<string, number>>;
  /** Commands that were started. */
  starts: number;
  /** Grants that were not taken up, by reason, such as "busy" or "draining". */
  declines: Readonly<Record<string, number>>;
  /** Runs that were refused by the policy. */
  refusals: number;
  /** Ended runs by `outcome.kind`. */
  outcomes: Readonly<Record<string, number>>;
  /** Leases of callers that ended because nothing was heard of them. */
  leasesLost: number;
  /** Frames that were dropped since they are none. */
  badFrames: number;
  /** Bytes of input that came, and of output that went, over the broker. */
  bytesIn: number;
  bytesOut: number;
};
