/**
 * The names under which callers and workers speak. Whoever may publish or subscribe to one is the broker's to
 * say, by permissions: so a tenant is taken from the subject of a message, never from what it holds.
 */

import { invalidValue } from "../errors.js";

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

/** Names that are tokens of a subject: of pools, tenants and workers. */

const kToken = /^[A-Za-z0-9_-]{1,64}$/;

/** Whether a text can be such a name: nothing that is a wildcard, a separator, or ends the token. */
export function isToken(text: unknown): text is string {
  return typeof text === "string" && kToken.test(text);
}

/** @throws TypeError that names the field. */
export function expectToken(value: unknown, field: string): asserts value is string {
  if (isToken(value)) return;
  const got = JSON.stringify(String(value).slice(0, 100));
  throw invalidValue(
    `Expected \`${field}\` to be a name of 1 to 64 letters, digits, hyphens and underscores, got ${got}`,
  );
}
