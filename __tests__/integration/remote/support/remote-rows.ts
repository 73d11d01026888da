/**
 * Has the suites that are imported behind this run with `RemoteNativeRunner`, in place of the runners of their own: a
 * broker and a worker for the file, whose policy lets callers have what a runner gives by itself.
 */

import { rmSync } from "node:fs";
import { afterAll, beforeAll } from "vitest";

import { RemoteNativeRunner } from "../../../../lib/adapters/remote.js";
import { kLiveRunners } from "../../support/live-processes.js";
import { whyNoBubblewrap } from "../../support/requirements.js";
import { kRunners } from "../../support/runners.js";
import { kSessionMakers } from "../../support/sessions.js";
import { tempDirectory } from "../../support/temp.js";
import { type NatsServer, startNatsServer, whyNoNatsServer } from "./nats-server.js";
import { startWorker, type TestWorker } from "./worker.js";

/** Why there can be no remote runs here; undefined when there can. */
export const whyNoRemote = whyNoNatsServer ?? whyNoBubblewrap;

const kName = `rows-${process.pid}`;
let server: NatsServer | undefined;
let worker: TestWorker | undefined;
const made: RemoteNativeRunner[] = [];

/** A runner on the worker of this file. */
export function remoteRunner(workspace: string): RemoteNativeRunner {
  if (server === undefined) throw new Error("there is no broker yet");
  const runner = new RemoteNativeRunner({
    servers: [server.url],
    insecure: true,
    pool: "tests",
    workspace,
  });
  made.push(runner);
  return runner;
}

kRunners.splice(0, kRunners.length, ["remote", remoteRunner]);
kLiveRunners.splice(0, kLiveRunners.length, ["remote", whyNoRemote, remoteRunner]);
kSessionMakers.splice(0, kSessionMakers.length, {
  name: "remote",
  reason: whyNoRemote,
  host: () => worker?.pid ?? 0,
  inside: () => "/workspace",
  runner: remoteRunner,
  open: (options, shadowDir = tempDirectory()) => remoteRunner(shadowDir).openSession(options),
});

beforeAll(async () => {
  if (whyNoRemote !== undefined) return;
  server = await startNatsServer();
  const policy = { limits: { timeoutMs: "none" }, prewarm: 0 };
  worker = await startWorker({
    server: server.url,
    name: kName,
    policy,
    slots: 16,
    workspaces: "/",
  });
}, 120_000);

afterAll(async () => {
  await Promise.all(made.map((runner) => runner.close()));
  // Its own directory, which root can make there.
  rmSync(`/.native-runner-${kName}`, { recursive: true, force: true });
});
