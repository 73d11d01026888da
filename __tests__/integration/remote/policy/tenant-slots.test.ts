/** `slots` of a policy: no more runs of a tenant at once, while its others wait, and other tenants have theirs. */

import { mkdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, expect, test } from "vitest";

import { RemoteNativeRunner } from "../../../../lib/adapters/remote.js";
import { describeUnless, whyNoBubblewrap } from "../../support/requirements.js";
import { tempDirectory } from "../../support/temp.js";
import { type NatsServer, startNatsServer, whyNoNatsServer } from "../support/nats-server.js";
import { startWorker } from "../support/worker.js";

const kSlots = 4;

/** The most commands that were there at once, as they wrote down when they began and ended. */
function mostAtOnce(file: string): number {
  let now = 0;
  let most = 0;
  for (const line of readFileSync(file, "utf8").trim().split("\n")) {
    now += line === "begin" ? 1 : -1;
    most = Math.max(most, now);
  }
  return most;
}

describeUnless(whyNoNatsServer ?? whyNoBubblewrap, "runs of one tenant at once", () => {
  let server: NatsServer;
  const root = tempDirectory();
  const argv = ["sh", "-c", "echo begin >> log; sleep 0.4; echo end >> log"];

  beforeAll(async () => {
    server = await startNatsServer();
    const tenants = { few: { slots: 1 }, two: { slots: 2 } };
    await startWorker({ server: server.url, slots: kSlots, workspaces: root, policy: { tenants } });
  }, 120_000);

  test("are as many as its policy says, and all of them end", async () => {
    const seen = ["few", "two", "many"].map(async (tenant) => {
      mkdirSync(path.join(root, tenant));
      const workspace = tempDirectory("slots", path.join(root, tenant));
      const place = { insecure: true, pool: "tests" };
      // Two callers of the tenant: the bound is the tenant's, not a caller's.
      const servers = [server.url, server.url.replace("127.0.0.1", "localhost")];
      const runners = servers.map(
        (url) => new RemoteNativeRunner({ ...place, servers: [url], workspace, tenant }),
      );
      const runs = Array.from({ length: 8 }, (_, n) => runners[n % 2]?.exec({ argv }));
      for (const result of await Promise.all(runs)) {
        expect(result?.outcome).toMatchObject({ kind: "exited" });
      }
      await Promise.all(runners.map((runner) => runner.close()));
      return mostAtOnce(path.join(workspace, "log"));
    });
    const [few = 0, two = 0, many = 0] = await Promise.all(seen);
    expect(few).toBe(1);
    expect(two).toBe(2);
    expect(many).toBeGreaterThan(1); // the control
    expect(many).toBeLessThanOrEqual(kSlots);
  }, 120_000);
});
