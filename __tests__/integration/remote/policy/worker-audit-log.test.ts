/** The audit log of a worker: what its callers ran, and in whose workspace. */

import { mkdirSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";

import { RemoteNativeRunner } from "../../../../lib/adapters/remote.js";
import { readAuditLog } from "../../../../lib/audit-log/entries.js";
import { verifyAuditLog } from "../../../../lib/audit-log/verify.js";
import { describeUnless, whyNoBubblewrap } from "../../support/requirements.js";
import { tempDirectory } from "../../support/temp.js";
import { startNatsServer, whyNoNatsServer } from "../support/nats-server.js";
import { startWorker } from "../support/worker.js";

describeUnless(whyNoNatsServer ?? whyNoBubblewrap, "a worker with an audit log", () => {
  test("records the runs of its callers", async () => {
    const server = await startNatsServer();
    const workspaces = tempDirectory();
    const file = path.join(tempDirectory(), "worker.log");
    const worker = await startWorker({
      server: server.url,
      workspaces,
      words: ["--audit-log", file],
    });
    for (const tenant of ["ada", "bob"]) {
      const workspace = path.join(workspaces, tenant, "project");
      mkdirSync(workspace, { recursive: true });
      const runner = new RemoteNativeRunner({
        ...{ servers: [server.url], insecure: true, pool: "tests", tenant, workspace },
      });
      await runner.exec({ argv: ["echo", `of ${tenant}`] });
      await runner.close();
    }
    expect(await worker.stop()).toBe(0);
    expect(await verifyAuditLog(file)).toMatchObject({ ok: true });
    const texts: string[] = [];
    for await (const entry of readAuditLog(file)) texts.push(JSON.stringify(entry));
    for (const tenant of ["ada", "bob"]) {
      const own = texts.filter((text) => text.includes(`of ${tenant}`));
      expect(own).toHaveLength(1);
      expect(own[0]).toContain(path.join(workspaces, tenant, "project"));
    }
  });

  test("records sessions and transactions with what was done in them", async () => {
    const server = await startNatsServer();
    const workspaces = tempDirectory();
    const file = path.join(tempDirectory(), "worker.log");
    const words = ["--audit-log", file];
    const worker = await startWorker({ server: server.url, workspaces, words });
    const workspace = path.join(workspaces, "ada", "project");
    mkdirSync(workspace, { recursive: true });
    const runner = new RemoteNativeRunner({
      ...{ servers: [server.url], insecure: true, pool: "tests", tenant: "ada", workspace },
    });
    const session = await runner.openSession();
    await session.exec({ argv: ["echo", "in the session"] });
    await session.close();
    const transaction = await runner.openTransaction();
    await transaction.exec({ argv: ["sh", "-c", "echo new > file"] });
    await transaction.commit();
    await transaction.close();
    await runner.close();
    expect(await worker.stop()).toBe(0);
    expect(await verifyAuditLog(file)).toMatchObject({ ok: true });
    const kinds: string[] = [];
    const texts: string[] = [];
    for await (const entry of readAuditLog(file)) {
      kinds.push(entry.kind);
      texts.push(JSON.stringify(entry));
    }
    const all = ["open", "session", "policy", "run", "policy", "run", "transaction", "close"];
    expect(kinds).toEqual(all);
    expect(texts.filter((text) => text.includes("in the session"))).toHaveLength(1);
    expect(texts.filter((text) => text.includes("echo new > file"))).toHaveLength(1);
    // Whose it was: a run's record has its workspace, and the id of its transaction.
    const of = (kind: string) => texts.filter((_, at) => kinds[at] === kind);
    for (const text of of("run")) expect(text).toContain(workspace);
    const [committed = ""] = of("transaction");
    expect(of("run")[1]).toContain(/"transaction":"\w+"/.exec(committed)?.[0]);
  });
});
