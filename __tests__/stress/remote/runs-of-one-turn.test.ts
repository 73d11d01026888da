/** 40,000 runs asked for in one turn, with one signal: the caller keeps its leases meanwhile, and each run ends once. */

import { mkdirSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";

import { RemoteNativeRunner } from "../../../lib/adapters/remote.js";
import { startNatsServer, whyNoNatsServer } from "../../integration/remote/support/nats-server.js";
import { startWorker } from "../../integration/remote/support/worker.js";
import { describeUnless, whyNoBubblewrap } from "../../integration/support/requirements.js";
import { tempDirectory } from "../../integration/support/temp.js";

const kRuns = 40_000;
/** They take the worker longer than a lease of four seconds. */
const kEnough = 2_000;

describeUnless(whyNoNatsServer ?? whyNoBubblewrap, `${kRuns} runs of one turn`, () => {
  test("cost no lease, and all end", async () => {
    const server = await startNatsServer();
    const workspaces = tempDirectory();
    const worker = await startWorker({ server: server.url, workspaces });
    const workspace = path.join(workspaces, "project");
    mkdirSync(workspace);
    const runner = new RemoteNativeRunner({
      ...{ servers: [server.url], insecure: true, pool: "tests", workspace },
      queueTimeoutMs: Number.POSITIVE_INFINITY,
    });
    const session = await runner.openSession(); // it ends with its caller's lease
    const abort = new AbortController();
    const kinds: Record<string, number> = {};
    let enough = () => {};
    const manyHaveEnded = new Promise<void>((resolve) => {
      enough = resolve;
    });
    let longestMs = 0;
    let last = performance.now();
    const timer = setInterval(() => {
      longestMs = Math.max(longestMs, performance.now() - last);
      last = performance.now();
    }, 5);
    const runs = Array.from({ length: kRuns }, async () => {
      const { outcome } = await runner.exec({ argv: ["true"], signal: abort.signal });
      kinds[outcome.kind] = (kinds[outcome.kind] ?? 0) + 1;
      if (kinds.exited === kEnough) enough();
    });
    await manyHaveEnded;
    expect((await session.exec({ argv: ["true"] })).outcome).toMatchObject({ kind: "exited" });
    abort.abort();
    await Promise.all(runs);
    clearInterval(timer);
    process.stdout.write(`the longest turn of ${kRuns} runs: ${Math.round(longestMs)} ms\n`);
    expect(Object.keys(kinds).sort()).toEqual(["aborted", "exited"]);
    expect((kinds.aborted ?? 0) + (kinds.exited ?? 0)).toBe(kRuns);
    await session.close();
    await runner.close();
    expect(await worker.stop()).toBe(0);
  });
});
