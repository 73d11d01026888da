/** Three brokers in a cluster: the one that everybody is connected to is killed, or frozen, and they go to another. */

import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";

import {
  type NatsServer,
  startNatsServer,
  whyNoNatsServer,
} from "../../integration/remote/support/nats-server.js";
import { describeUnless, whyNoBubblewrap } from "../../integration/support/requirements.js";
import { freePort } from "./support/free-port.js";
import type { Machines } from "./support/machines.js";
import { manyRounds, mixedRuns } from "./support/rounds.js";

const kEstablished = "01";

/** Of one cluster; each knows the routes of all. */
type Cluster = { servers: NatsServer[]; configs: string[] };

async function startCluster(): Promise<Cluster> {
  const routes = await Promise.all([1, 2, 3].map(() => freePort()));
  const configs = routes.map((port, index) => {
    const others = routes.map((each) => `nats://127.0.0.1:${each}`).join(", ");
    return `server_name: n${index}
      cluster { name: faults, listen: "127.0.0.1:${port}", routes: [${others}], no_advertise: true }`;
  });
  const servers = await Promise.all(configs.map((config) => startNatsServer(config)));
  return { servers, configs };
}

/** Which of them has most clients connected. */
function mostUsed(servers: readonly NatsServer[]): number {
  const table = readFileSync("/proc/net/tcp", "latin1").split("\n");
  const clients = servers.map(({ port }) => {
    const local = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
    return table.filter((line) => {
      const [, from = "", , state] = line.trim().split(/ +/);
      return from.endsWith(local) && state === kEstablished;
    }).length;
  });
  return clients.indexOf(Math.max(...clients));
}

describeUnless(whyNoNatsServer ?? whyNoBubblewrap, "a cluster of three brokers", () => {
  test.each([
    ["killed", "SIGKILL"],
    ["frozen", "SIGSTOP"],
  ] as const)("one of them is %s", async (what, signal) => {
    const clusters = new Map<Machines, Cluster>();
    const seen = await manyRounds(
      `one of three brokers ${what}`,
      2,
      async (machines) => {
        const cluster = await startCluster();
        clusters.set(machines, cluster);
        machines.clientUrls = cluster.servers.map(({ url }) => url);
        const [first = "", second = "", third = ""] = machines.clientUrls;
        await machines.startWorker("one", { urls: [first, second, third] });
        await machines.startWorker("two", { urls: [second, third, first] });
      },
      async (machines, random) => {
        const cluster = clusters.get(machines);
        if (cluster === undefined) throw new Error("there is no cluster");
        const caller = machines.startCaller(mixedRuns(24, random));
        await caller.until(() => machines.counted(caller).size > 0, "running");
        await delay(random() * 1_500);
        const { servers, configs } = cluster;
        const victim = mostUsed(servers);
        const faultAt = Date.now();
        const port = servers[victim]?.port ?? 0;
        const gone = signal === "SIGKILL" ? servers[victim]?.stop(signal) : undefined;
        if (signal === "SIGSTOP") process.kill(servers[victim]?.pid ?? 0, signal);
        await gone;
        await caller.gone; // each run has settled, though nothing was ever heard of a frozen one again
        if (signal === "SIGSTOP") await servers[victim]?.stop("SIGKILL");
        servers[victim] = await startNatsServer(configs[victim], { port });
        return machines.verdict(caller, { faultAt, withinMs: Number.POSITIVE_INFINITY });
      },
    );
    await Promise.all(
      [...clusters.values()].flatMap(({ servers }) => servers.map((each) => each.stop("SIGKILL"))),
    );
    expect(seen.exited).toBeGreaterThan(0);
  });
});
