/** What each role may publish and subscribe to at the broker. All else is refused there. Pure. */

import { expectToken } from "../token.js";

/** As NATS has them: "subject", or "subject queue" for subscribing in that queue group alone. */
export type BrokerPermissions = {
  publish: readonly string[];
  subscribe: readonly string[];
};

/** A worker: its name is its own, in whichever pool it is. */
export type WorkerIdentity = { pool: string; name: string };

/**
 * A caller of a tenant: it speaks to workers as this tenant alone, which they take from the subject, and
 * hears what is sent to this tenant's callers.
 *
 * @throws TypeError where the name is none.
 */
export function callerPermissions(tenant: string): BrokerPermissions {
  expectToken(tenant, "tenant");
  return {
    publish: [`nr1.free.*.${tenant}`, `nr1.want.*.${tenant}`, `nr1.w.*.*.${tenant}`],
    subscribe: [`nr1.c.${tenant}.>`],
  };
}

/**
 * A worker: it hears what its pool is asked, in turn with the others, and what is sent to it by name; it
 * speaks to callers alone.
 *
 * @throws TypeError where a name is none.
 */
export function workerPermissions({ pool, name }: WorkerIdentity): BrokerPermissions {
  expectToken(pool, "pool");
  expectToken(name, "worker");
  return {
    publish: ["nr1.c.*.*"],
    subscribe: [`nr1.free.${pool}.* free`, `nr1.want.${pool}.* want`, `nr1.w.${name}.*.*`],
  };
}
