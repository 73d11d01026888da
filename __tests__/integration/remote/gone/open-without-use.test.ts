/** Sessions and transactions hold slots while they are open: `--idle-timeout` and `--drain-timeout` end them, and say so. */

import { expect, test } from "vitest";

import { RemoteNativeRunner } from "../../../../lib/adapters/remote.js";
import { describeUnless, whyNoBubblewrap } from "../../support/requirements.js";
import { tempDirectory } from "../../support/temp.js";
import { startNatsServer, whyNoNatsServer } from "../support/nats-server.js";
import { startWorker } from "../support/worker.js";

describeUnless(whyNoNatsServer ?? whyNoBubblewrap, "what is open on a worker of one slot", () => {
  const setUp = async (...words: string[]) => {
    const server = await startNatsServer();
    const workspaces = tempDirectory();
    const worker = await startWorker({ server: server.url, slots: 1, workspaces, words });
    const runner = new RemoteNativeRunner({
      ...{ servers: [server.url], insecure: true, pool: "tests" },
      workspace: tempDirectory("open", workspaces),
    });
    return { worker, runner };
  };
  const kTrue = { argv: ["true"] };
  const kOpen = {
    session: (runner: RemoteNativeRunner) => runner.openSession(),
    transaction: (runner: RemoteNativeRunner) => runner.openTransaction(),
  };

  test.each(["session", "transaction"] as const)(
    "an idle %s gives its slot back, and is told why it has ended",
    async (kind) => {
      const { worker, runner } = await setUp("--idle-timeout", "500ms");
      const open = await kOpen[kind](runner);
      expect((await open.exec(kTrue)).exitCode).toBe(0); // the control: it is used
      // It waits for the one slot: nobody closes what holds it.
      expect((await runner.exec(kTrue)).exitCode).toBe(0);
      await expect(open.exec(kTrue)).rejects.toThrow("no command or call came for 500 ms");
      await runner.close();
      expect(await worker.stop()).toBe(0);
    },
    120_000,
  );

  test("one with a command that runs is not idle", async () => {
    const { worker, runner } = await setUp("--idle-timeout", "300ms");
    const session = await runner.openSession();
    const { exitCode, stdoutText } = await session.exec({ argv: ["sh", "-c", "sleep 1; echo on"] });
    expect([exitCode, stdoutText]).toEqual([0, "on\n"]);
    await session.close();
    await runner.close();
    expect(await worker.stop()).toBe(0);
  }, 120_000);

  test.each(["session", "transaction"] as const)(
    "a %s ends with its worker's --drain-timeout, and the worker with 0",
    async (kind) => {
      const { worker, runner } = await setUp("--drain-timeout", "700ms");
      const open = await kOpen[kind](runner);
      worker.kill("SIGTERM");
      expect((await open.exec(kTrue)).exitCode).toBe(0); // it goes on until then
      expect(await worker.ended).toBe(0);
      await expect(open.exec(kTrue)).rejects.toThrow("its worker was shut down");
      await runner.close();
    },
    120_000,
  );

  test("a second signal does not wait for it", async () => {
    const { worker, runner } = await setUp();
    const session = await runner.openSession();
    worker.kill("SIGTERM");
    expect((await session.exec(kTrue)).exitCode).toBe(0);
    worker.kill("SIGTERM");
    expect(await worker.ended).toBe(0);
    await runner.close();
  }, 120_000);
});
