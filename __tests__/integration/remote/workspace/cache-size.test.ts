/** `--cache` of a worker: how much of the workspaces that callers send it keeps. */

import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { RemoteNativeRunner } from "../../../../lib/adapters/remote.js";
import { describeUnless, whyNoBubblewrap } from "../../support/requirements.js";
import { tempDirectory } from "../../support/temp.js";
import { startNatsServer, whyNoNatsServer } from "../support/nats-server.js";
import { startWorker } from "../support/worker.js";

const kMiB = 1024 ** 2;
const kCache = 8 * kMiB;

function bytesIn(directory: string): number {
  const { stdout } = spawnSync("du", ["-sb", directory], { encoding: "utf8" });
  return Number(stdout.split("\t")[0]);
}

describeUnless(whyNoNatsServer ?? whyNoBubblewrap, "the cache of a worker", () => {
  test("has no more bytes than it may, and serves what fits", async () => {
    const { url } = await startNatsServer();
    const workspaces = tempDirectory("workspaces");
    const words = ["--cache", "8M"];
    await startWorker({ server: url, name: "small", workspaces, words });
    const place = { servers: [url], insecure: true, pool: "tests" };
    const own = tempDirectory("own");
    const runners = Array.from({ length: 4 }, (_, n) => {
      const directory = join(own, `project${n}`);
      mkdirSync(directory);
      writeFileSync(join(directory, "file"), randomBytes(n === 3 ? 2 * kCache : 5 * kMiB));
      const transactions = join(own, `transactions${n}`);
      return new RemoteNativeRunner({ ...place, workspace: { directory, transactions } });
    });
    const size = { argv: ["sh", "-c", "wc -c < file"] };
    // One of them fits, and has the one before go.
    for (const at of [0, 1, 2, 0]) {
      const result = await runners[at]?.exec(size);
      expect(result).toMatchObject({ exitCode: 0, stdoutText: `${5 * kMiB}\n` });
    }
    expect(bytesIn(join(workspaces, ".native-runner-small", "tenants"))).toBeLessThan(kCache);
    await expect(runners[3]?.exec(size)).rejects.toMatchObject({ code: "ERR_WORKSPACE_LIMIT" });
    await Promise.all(runners.map((runner) => runner.close()));
  }, 120_000);
});
