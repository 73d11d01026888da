/** What a caller knows of one worker. Times are of `performance.now()`. */
export class Link {
  readonly worker: string;
  readonly pool: string;
  /** Slots that it had when it last said so, less those that were used since. */
  free = 0;
  /** The lease under which it takes grants. */
  lease = 0;
  heardAt = 0;
  /** When it was last told that this caller lives; it ends what it runs some seconds after that. */
  echoedAt = 0;
  /** Runs whose ends have come, and that it was not told so yet. */
  ended: number[] = [];

  constructor(worker: string, pool: string) {
    this.worker = worker;
    this.pool = pool;
  }
}
