/** Changes that can't be brought in here: the run settles with the reason, and the worker is free again. */

import { readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, expect, test } from "vitest";

import { RemoteNativeRunner } from "../../../../lib/adapters/remote.js";
import { describeUnless, whyNoBubblewrap } from "../../support/requirements.js";
import { tempDirectory } from "../../support/temp.js";
import { type NatsServer, startNatsServer, whyNoNatsServer } from "../support/nats-server.js";
import { startWorker } from "../support/worker.js";

/** More than may be on its way without an answer, and nothing that compresses. */
const kWrites = "for i in $(seq 40); do head -c 200000 /dev/urandom > $i; done";

describeUnless(whyNoNatsServer ?? whyNoBubblewrap, "changes that the caller can't commit", () => {
  let server: NatsServer;
  beforeAll(async () => {
    server = await startNatsServer();
    await startWorker({ server: server.url, slots: 1 });
  }, 120_000);

  function runner(directory: string, transactions?: string): RemoteNativeRunner {
    return new RemoteNativeRunner({
      ...{ servers: [server.url], insecure: true, pool: "tests" },
      workspace: { directory, ...(transactions !== undefined && { transactions }) },
    });
  }

  const input = { argv: ["sh", "-c", kWrites], limits: { timeoutMs: 20_000 } };

  test("reject with the reason, however much there is, and leave the slot to the next run", async () => {
    const file = path.join(tempDirectory(), "a-file");
    writeFileSync(file, "");
    const workspace = tempDirectory();
    const unable = runner(workspace, file);
    await expect(unable.exec(input)).rejects.toThrow(/a-file/);
    expect(readdirSync(workspace)).toEqual([]);
    const able = runner(workspace); // the control
    expect((await able.exec(input)).outcome).toMatchObject({ kind: "exited" });
    expect(readdirSync(workspace)).toHaveLength(40);
    await Promise.all([unable.close(), able.close()]);
  }, 120_000);
});
