/** `native-runner worker`: serves a pool until it is asked to end. */

import { hostname } from "node:os";
import { setFlagsFromString } from "node:v8";

import type { AuditLog } from "../../audit-log/audit-log.js";
import { BrokerAccess } from "../../remote/broker/broker-access.js";
import { Connection } from "../../remote/broker/connection.js";
import { isOfOperators, workerRefusal } from "../../remote/broker/refused.js";
import { deferred } from "../../remote/deferred.js";
import type { Operation } from "../../remote/operators.js";
import { defaultWorkerPolicy, loadWorkerPolicy } from "../../remote/policy/worker-policy.js";
import { Workspaces } from "../../remote/policy/workspace-place.js";
import { MetricsServer } from "../../remote/worker/metrics-server.js";
import { PolicyPlaces } from "../../remote/worker/policy-places.js";
import { defaultSlots } from "../../remote/worker/slots.js";
import { Worker } from "../../remote/worker/worker.js";
import { recorded } from "../options.js";
import { printError } from "../terminal.js";
import { brokerOptions, type WorkerCliOptions } from "./commands.js";

/**
 * Output that passes through a worker becomes garbage soon, outside of a heap of some MiB. By default V8
 * collects that whole heap for every few MiB of output, which takes half of a worker's time. This lets the
 * heap first grow to five times its size.
 */
const kHeapGrowth = "--heap-growing-percent=400";

/** Milliseconds for open sessions and transactions, less than the ten minutes that the unit of docs/scale gives. */
const kDrainMs = 540_000;

/** The broker's configuration is of a version that knew no operators. */
const kAnew = "write the broker's configuration anew with `broker-config`, and reload it";

const kSignals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Returns a name for the broker: this machine's, without characters that names must not contain. */
function ownName(): string {
  const [name = ""] = hostname().split(".");
  return name.replace(/[^A-Za-z0-9_-]/g, "-").slice(0, 64) || "worker";
}

type Ending = { again: Promise<void> };

/**
 * `ending` resolves at the first signal, or when `end` is called before, with a promise that resolves at the next signal.
 */
function signalled(): { ending: Promise<Ending>; end(): void } {
  const first = deferred<Ending>();
  const second = deferred<void>();
  let isEnding = false;
  const end = () => {
    isEnding = true;
    first.resolve({ again: second.promise });
  };
  for (const name of kSignals) process.on(name, () => (isEnding ? second.resolve() : end()));
  return { ending: first.promise, end };
}

/** Resolves when the worker has ended completely. */
export async function worker(options: WorkerCliOptions): Promise<void> {
  await recorded(options, (auditLog) => serve(options, auditLog));
}

async function serve(options: WorkerCliOptions, auditLog: AuditLog | undefined): Promise<void> {
  setFlagsFromString(kHeapGrowth);
  const access = new BrokerAccess(await brokerOptions(options));
  const { policy: file, pool, slots = defaultSlots(), name = ownName() } = options;
  const policy = file === undefined ? defaultWorkerPolicy() : await loadWorkerPolicy(file);
  const workspaces = new Workspaces(options.workspaces);
  const places = new PolicyPlaces(policy, workspaces, {
    slots,
    name,
    pool,
    cacheBytes: options.cache,
    auditLog,
    secrets: [options.credentials, options.tlsKey].filter((file) => file !== undefined),
  });
  await places.check().catch(async (error: unknown) => {
    await places.close();
    throw error;
  });
  const connection = new Connection(access);
  const failed = deferred<never>();
  const serves = () => printError(`worker ${name} serves the pool ${pool}, ${slots} at once`);
  connection.listen({
    connected: (isNew) => isNew || serves(),
    refused: (refused) => {
      if (!isOfOperators(refused)) failed.reject(workerRefusal(refused, { pool, name }));
      else printError(`operators can't reach it: it may not use ${refused.subject}`, kAnew);
    },
    disconnected: () => printError("the connection to the broker is lost; it is tried again"),
    failed: (error) => failed.reject(error),
  });
  connection.hold();
  const { ending, end } = signalled();
  await Promise.race([connection.open(), failed.promise, ending]);
  const { stdin: mostStdinBytes, idleTimeout: idleMs } = options;
  const fitnessChanged = (why: string | undefined) =>
    printError(
      why === undefined
        ? "it can make sandboxes again"
        : `it takes no runs: it can make no sandbox: ${why}`,
    );
  const operated = (what: Operation, operator: string) => {
    printError(`the operator ${operator}: ${what}`);
    if (what === "drain") end();
  };
  const looks = { fitnessChanged, operated };
  const own = { connection, pool, name, slots, places, mostStdinBytes, idleMs, ...looks };
  const serving = new Worker(own);
  const metrics =
    options.metrics === undefined
      ? undefined
      : await MetricsServer.open(options.metrics.port, () => serving.state(), options.metrics.host);
  if (metrics) printError(`figures at ${metrics.url}/metrics`);
  try {
    if (connection.isConnected) {
      await serving.check();
      serving.start();
      await Promise.race([connection.settled(), failed.promise, ending]);
      serves();
    }
    const { again } = await Promise.race([ending, failed.promise]);
    const { drainTimeout = kDrainMs } = options;
    printError(
      `it takes no more runs, and ends when those under way have; open sessions and transactions have ${drainTimeout / 1_000} s`,
    );
    await Promise.race([serving.drain(drainTimeout), again, failed.promise]);
  } finally {
    await serving.stop();
    await places.close();
    await metrics?.close();
    await connection.close();
    connection.release();
  }
}
