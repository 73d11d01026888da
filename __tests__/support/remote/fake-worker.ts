/** A worker that says what a test wants, to a caller with a {@link FakeConnection}. */

import type { Caller } from "../../../lib/remote/caller/caller.js";
import { fromWorkerSubject } from "../../../lib/remote/subjects.js";
import type { FakeConnection } from "./fake-connection.js";

type Said = { t: string } & Record<string, unknown>;

/** @returns a function that sends a message in the name of the worker */
export function workerSays(
  connection: FakeConnection,
  caller: Pick<Caller, "tenant" | "id">,
  pool: string,
  worker: string,
): (message: Said, body?: Uint8Array) => number {
  const subject = fromWorkerSubject(caller.tenant, caller.id, pool, worker);
  return (message, body) => connection.deliver(subject, Object.assign({ worker }, message), body);
}
