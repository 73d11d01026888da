/** The end of a run that has waited as long as it may. Pure. */

import type { RunEnd, RunRequest } from "../remote-run.js";

export function queueTimeout(
  { pool, queueTimeoutMs }: Pick<RunRequest, "pool" | "queueTimeoutMs">,
  isConnected: boolean,
): RunEnd {
  const reason = isConnected
    ? `no worker of the pool "${pool}" had a free slot within ${queueTimeoutMs} ms`
    : `there was no connection to the broker within ${queueTimeoutMs} ms`;
  return { kind: "queue-timeout", reason };
}
