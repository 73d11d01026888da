/**
 * The names under which callers and workers speak. Whoever may publish or subscribe to one is the broker's to
 * say, by permissions: so a tenant is taken from the subject of a message, never from what it holds.
 */

/** The version of the wire format: those of another one don't see each other. */
const kPrefix = "nr1";

/** A caller to one worker of the pool that has a free slot. */
export const freeSubject = (pool: string, tenant: string) => `${kPrefix}.free.${pool}.${tenant}`;

/** A caller to one worker of the pool, whether or not it has one. */
export const wantSubject = (pool: string, tenant: string) => `${kPrefix}.want.${pool}.${tenant}`;

/** Workers to a caller. */
export const callerSubject = (tenant: string, caller: string) => `${kPrefix}.c.${tenant}.${caller}`;

/** The broker to a caller: nobody of the pool has a free slot. */
export const nobodySubject = (tenant: string, caller: string, pool: string) =>
  `${callerSubject(tenant, caller)}.none.${pool}`;

/** The broker to a caller: what was sent to this worker has reached nobody. */
export const goneSubject = (tenant: string, caller: string, worker: string) =>
  `${callerSubject(tenant, caller)}.gone.${worker}`;

/** A caller to one worker, which is named by its name and a number of its process, with a dot between. */
export const workerSubject = (worker: string, tenant: string) => `${kPrefix}.w.${worker}.${tenant}`;

/** The last part of a subject: the tenant, for all that a worker subscribes to. */
export const lastOf = (subject: string) => subject.slice(subject.lastIndexOf(".") + 1);

/** The parts behind `nr1.c.TENANT.CALLER`: what the broker says to a caller. */
export const behindCaller = (subject: string) => subject.split(".").slice(4);
