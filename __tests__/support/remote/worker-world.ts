/** A real Worker at a {@link FakeConnection}, with places whose commands are the test's own. */

import { workerSubject } from "../../../lib/remote/subjects.js";
import type { ToWorker } from "../../../lib/remote/wire/messages.js";
import type { Granted, Places, RunnerPlace } from "../../../lib/remote/worker/guest.js";
import { Worker, type WorkerOptions } from "../../../lib/remote/worker/worker.js";
import { FakeConnection } from "./fake-connection.js";

type Grant = Extract<ToWorker, { t: "grant" }>;

/** The place of all runs, as a test gives it. */
export type PlaceOfTest = Partial<RunnerPlace>;

export function placesOf(place: PlaceOfTest, more: Partial<Places> = {}): Places {
  const granted: Granted = {
    place: place as RunnerPlace,
    bounded: (input) => input,
    release: () => {},
  };
  return { find: async () => granted, close: async () => {}, ...more };
}

export function workerWorld(place: PlaceOfTest, more: Partial<WorkerOptions> = {}) {
  const connection = new FakeConnection();
  const options = { connection: connection.asConnection, pool: "p", name: "w", slots: 2 };
  const worker = new Worker({ ...options, places: placesOf(place), ...more });
  worker.start();
  /** A message of a caller of a tenant. */
  const says = (message: { t: string; caller: string } & object, body?: Uint8Array, tenant = "t") =>
    connection.deliver(workerSubject(options.pool, worker.id, tenant), message, body);
  let lease: number | undefined;
  const grant = (run: number, own: Partial<Grant> = {}, body?: Uint8Array, tenant = "t") => {
    lease ??= leaseOf(connection, tenant, says);
    return says(
      {
        ...{ t: "grant", caller: "k", run, attempt: 1, kind: "exec", isLive: false, policy: {} },
        ...{ credit: 1024, oldest: 0, waiting: 0, input: { argv: ["x"] }, lease, workspace: "/w" },
        ...own,
      },
      body,
      tenant,
    );
  };
  return { worker, connection, says, grant };
}

/** The lease under which the caller `k` may grant runs: a decline of a stale one comes first. */
function leaseOf(
  connection: FakeConnection,
  tenant: string,
  _says: (message: { t: string; caller: string } & object) => number,
): number {
  connection.deliver(`nr1.want.p.${tenant}`, Object.assign({ t: "want" }, { caller: "k", n: 1 }));
  return 1;
}
