/**
 * Subjects on which callers and workers exchange messages. The broker's permissions decide which clients may publish or
 * subscribe to each, so the tenant of a message is taken from its subject, never from its content.
 */

import { invalidValue } from "../errors.js";

/** Version of the wire format. Clients of different versions receive none of each other's messages. */
const kPrefix = "nr1";

/** From a caller to one worker of the pool that has a free slot. */
export const freeSubject = (pool: string, tenant: string) => `${kPrefix}.free.${pool}.${tenant}`;

/** From a caller to any one worker of the pool, with or without a free slot. */
export const wantSubject = (pool: string, tenant: string) => `${kPrefix}.want.${pool}.${tenant}`;

/** Everything for a caller is this subject and one below it. */
export const callerSubject = (tenant: string, caller: string) => `${kPrefix}.c.${tenant}.${caller}`;

/** From a worker to a caller. The broker lets a worker publish only with its own pool and name. */
export const fromWorkerSubject = (tenant: string, caller: string, pool: string, worker: string) =>
  `${callerSubject(tenant, caller)}.w.${pool}.${worker}`;

/** From the broker to a caller: no worker of the pool has a free slot. */
export const nobodySubject = (tenant: string, caller: string, pool: string) =>
  `${callerSubject(tenant, caller)}.none.${pool}`;

/** From the broker to a caller: a message to this worker has reached no process. */
export const goneSubject = (tenant: string, caller: string, worker: string) =>
  `${callerSubject(tenant, caller)}.gone.${worker}`;

/** From a caller to one worker of a pool, identified as `NAME.NUMBER`, where the number is that of its process. */
export const workerSubject = (pool: string, worker: string, tenant: string) =>
  `${kPrefix}.w.${pool}.${worker}.${tenant}`;

/** From an operator to every worker. */
export const listSubject = (operator: string) => `${kPrefix}.list.${operator}`;

/** From an operator to one worker of a pool, by its name. */
export const operateSubject = (pool: string, name: string, operator: string) =>
  `${kPrefix}.op.${pool}.${name}.${operator}`;

/** Everything for an operator is below this subject. */
export const operatorSubject = (operator: string) => `${kPrefix}.o.${operator}`;

/** From a worker to an operator. The broker lets a worker publish only with its own pool and name. */
export const fromWorkerToOperatorSubject = (operator: string, pool: string, name: string) =>
  `${operatorSubject(operator)}.w.${pool}.${name}`;

/** From the broker to an operator: the question `ask` has reached no worker. */
export const noWorkerSubject = (operator: string, ask: string) =>
  `${operatorSubject(operator)}.none.${ask}`;

/** Returns the last part of a subject: the sender's tenant, or the operator, for all that a worker subscribes to. */
export const lastOf = (subject: string) => subject.slice(subject.lastIndexOf(".") + 1);

/**
 * Returns the parts behind `nr1.c.TENANT.CALLER`: "w" and the sender for a message of a worker, or the kind of a
 * broker's reply.
 */
export const behindCaller = (subject: string) => subject.split(".").slice(4);

/** Names of pools, tenants and workers: each is one token of a subject. */

const kToken = /^[A-Za-z0-9_-]{1,64}$/;

/** True if a text is a valid name: it holds no wildcard, no separator and no white space. */
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
