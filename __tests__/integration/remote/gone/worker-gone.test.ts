/** A worker that is killed: what callers see of a session, a live process and a transaction that were on it. */

import { beforeAll, expect, test } from "vitest";

import { RemoteNativeRunner } from "../../../../lib/adapters/remote.js";
import { eventually } from "../../../support/waits.js";
import { kMarker, marked, newMark } from "../../support/processes.js";
import { describeUnless, whyNoBubblewrap } from "../../support/requirements.js";
import { tempDirectory } from "../../support/temp.js";
import { type NatsServer, startNatsServer, whyNoNatsServer } from "../support/nats-server.js";
import { startWorker } from "../support/worker.js";

describeUnless(whyNoNatsServer ?? whyNoBubblewrap, "a worker that is killed", () => {
  let server: NatsServer;
  beforeAll(async () => {
    server = await startNatsServer();
  }, 60_000);
  const place = (pool: string) => {
    const workspace = tempDirectory();
    return { servers: [server.url], insecure: true, pool, workspace };
  };
  const kLost = { kind: "lost", ended: "unproved" };

  test("ends its sessions: what runs in one is lost, and what comes later is told why", async () => {
    const pool = "sessions";
    const worker = await startWorker({ server: server.url, pool });
    const runner = new RemoteNativeRunner(place(pool));
    const session = await runner.openSession();
    // A mark each: a command that has not reached its worker by then is told that it never ran.
    const [liveMark, mark] = [newMark(), newMark()];
    expect((await session.exec({ argv: ["true"] })).exitCode).toBe(0); // the control
    const live = await session.start({
      argv: ["sh", "-c", "echo up; sleep 3600"],
      env: { [kMarker]: liveMark },
    });
    const running = session.exec({ argv: ["sleep", "3600"], env: { [kMarker]: mark } });
    await eventually("running", () => marked(liveMark).length > 0 && marked(mark).length > 0);
    await worker.stop("SIGKILL");
    // Nobody can know it yet: the session counts as open until it is lost.
    expect(session.isOpen).toBe(true);
    const { outcome } = await running;
    expect(outcome).toMatchObject(kLost);
    expect((await live.result).outcome).toMatchObject({ ...kLost, started: "yes" });
    expect([...marked(liveMark), ...marked(mark)]).toEqual([]);
    expect(await session.ended).toMatch(/^it was lost: nothing was heard of its worker/);
    expect(session.isOpen).toBe(false);
    await expect(session.exec({ argv: ["true"] })).rejects.toMatchObject({
      code: "ERR_SANDBOX_CLOSED",
      message: expect.stringContaining("it was lost") as string,
    });
    await session.close(); // nothing is to be done, and nothing throws
    await startWorker({ server: server.url, pool });
    expect((await runner.exec({ argv: ["true"] })).exitCode).toBe(0);
    await runner.close();
  }, 120_000);

  test("is said to have started what ran, however it was asked for", async () => {
    const pool = "started";
    const worker = await startWorker({ server: server.url, pool });
    const runner = new RemoteNativeRunner(place(pool));
    const marks = [newMark(), newMark()];
    const [exec, batch] = marks.map((mark) => ({
      argv: ["sleep", "3600"],
      env: { [kMarker]: mark },
    }));
    if (exec === undefined || batch === undefined) throw new Error("no inputs");
    const running = [
      runner.exec(exec),
      runner.execBatch([["true"], batch]).then((results) => results.at(-1)),
    ];
    await eventually("running", () => marks.every((mark) => marked(mark).length > 0));
    // A worker tells of a start some 50 ms later, and of what ends after that behind it.
    expect((await runner.exec({ argv: ["sleep", "0.5"] })).exitCode).toBe(0);
    await worker.stop("SIGKILL");
    for (const end of await Promise.all(running)) {
      expect(end?.outcome).toMatchObject({ ...kLost, started: "yes" });
    }
    await runner.close();
  }, 120_000);

  test("keeps its transactions: another process of the same name has what was changed", async () => {
    const pool = "transactions";
    const env = { XDG_STATE_HOME: tempDirectory("state") };
    const choice = { server: server.url, pool, name: "kept", env };
    const worker = await startWorker(choice);
    const runner = new RemoteNativeRunner(place(pool));
    const transaction = await runner.openTransaction({ backend: "copy" });
    await transaction.exec({ argv: ["sh", "-c", "echo kept > made"] });
    const mark = newMark();
    const asked = transaction.exec({ argv: ["sleep", "3600"], env: { [kMarker]: mark } });
    await eventually("running", () => marked(mark).length > 0);
    await worker.stop("SIGKILL");
    expect((await asked).outcome).toMatchObject(kLost);
    await expect(transaction.changes()).rejects.toMatchObject({
      code: "ERR_SANDBOX_CLOSED",
      message: expect.stringContaining("it was lost") as string,
      fix: expect.stringContaining("resumeTransaction") as string,
    });
    await transaction.close();
    await startWorker(choice);
    const again = await runner.resumeTransaction(transaction.id);
    expect(await again.changes()).toMatchObject([{ path: "made" }]);
    await again.discard();
    await runner.close();
  }, 120_000);
});
