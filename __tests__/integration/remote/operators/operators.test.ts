/** `native-runner workers` as it is installed, with real workers of a real broker. */

import { spawn } from "node:child_process";
import path from "node:path";
import { beforeAll, expect, test } from "vitest";

import { RemoteNativeRunner } from "../../../../lib/adapters/remote.js";
import type { ListedWorker } from "../../../../lib/remote/operators.js";
import { kNodeProgram } from "../../support/node-arguments.js";
import { describeUnless, whyNoBubblewrap } from "../../support/requirements.js";
import { tempDirectory } from "../../support/temp.js";
import { type NatsServer, startNatsServer, whyNoNatsServer } from "../support/nats-server.js";
import { startWorker } from "../support/worker.js";

const kMain = path.join(import.meta.dirname, "../../../../dist/cli/main.js");

describeUnless(whyNoNatsServer ?? whyNoBubblewrap, "an operator", () => {
  let server: NatsServer;
  const workspaces = tempDirectory();
  beforeAll(async () => {
    server = await startNatsServer();
  });

  async function workers(...words: string[]) {
    const all = [kMain, "workers", ...words, "--server", server.url, "--insecure"];
    const child = spawn(kNodeProgram, all, { stdio: ["ignore", "pipe", "pipe"] });
    const [out, err] = [child.stdout, child.stderr].map(async (stream) => {
      let text = "";
      for await (const chunk of stream.setEncoding("utf8")) text += chunk;
      return text;
    });
    const status = await new Promise((resolve) => child.once("close", resolve));
    return { status, stdout: (await out) ?? "", stderr: (await err) ?? "" };
  }
  const list = async (...words: string[]) =>
    JSON.parse((await workers("list", "--json", ...words)).stdout) as ListedWorker[];
  const start = (name: string, pool: string) =>
    startWorker({ server: server.url, pool, name, slots: 2, workspaces });
  const runnerOf = (pool: string) =>
    new RemoteNativeRunner({
      ...{ servers: [server.url], insecure: true, pool },
      workspace: tempDirectory("operated", workspaces),
    });

  test("hears of no workers at once, where there are none", async () => {
    expect(await workers("list")).toEqual({ status: 0, stdout: "no workers\n", stderr: "" });
    const { status, stderr } = await workers("cordon", "build/w1");
    expect(status).toBe(120);
    expect(stderr).toContain("no worker build/w1 is connected to the broker");
  });

  test("cordons a worker: the other has all runs, until it is uncordoned", async () => {
    const [one, other] = [await start("c1", "cordoned"), await start("c2", "cordoned")];
    const runner = runnerOf("cordoned");
    const cordoned = await workers("cordon", "cordoned/c1");
    expect(cordoned).toMatchObject({ status: 0, stderr: "" });
    expect(cordoned.stdout).toMatch(/^WORKER .*STATE\ncordoned\/c1 .* cordoned\n$/);
    expect(one.log()).toContain("the operator operator: cordon");
    for (let n = 0; n < 6; n += 1) await runner.exec({ argv: ["true"] });
    const starts = async () =>
      (await list("--pool", "cordoned")).map((each) => [each.name, each.isCordoned, each.starts]);
    // Polled: a list has who answers within a second.
    await expect.poll(starts).toEqual([
      ["c1", true, 0],
      ["c2", false, 6],
    ]);
    await workers("cordon", "cordoned/c2");
    const waits = runner.exec({ argv: ["true"] });
    await workers("uncordon", "cordoned/c1");
    expect((await waits).outcome).toMatchObject({ kind: "exited" });
    // Polled: a list has who answers within a second.
    await expect.poll(starts).toEqual([
      ["c1", false, 1],
      ["c2", true, 6],
    ]);
    await runner.close();
    await Promise.all([one.stop(), other.stop()]);
  }, 120_000);

  test("drains a worker: its process ends by itself, after what it has", async () => {
    const [one, other] = [await start("d1", "drained"), await start("d2", "drained")];
    await workers("cordon", "drained/d2"); // so that the session is on d1
    const runner = runnerOf("drained");
    const session = await runner.openSession();
    await workers("uncordon", "drained/d2");
    const { status, stdout } = await workers("drain", "drained/d1", "--operator", "ada");
    expect(status).toBe(0);
    expect(stdout).toMatch(/drained\/d1 .* draining\n$/);
    expect(one.log()).toContain("the operator ada: drain");
    expect((await session.exec({ argv: ["true"] })).outcome).toMatchObject({ kind: "exited" });
    await runner.exec({ argv: ["true"] }); // on the other one
    const left = () => list("--pool", "drained");
    await expect.poll(left).toMatchObject([
      { name: "d1", isDraining: true, running: 1 },
      { name: "d2", isDraining: false, starts: 1 },
    ]);
    await session.close();
    expect(await one.ended).toBe(0);
    await expect.poll(left).toMatchObject([{ name: "d2" }]);
    await runner.close();
    await other.stop();
  }, 120_000);

  test("is told of a worker that does not answer", async () => {
    const one = await start("s1", "silent");
    one.kill("SIGSTOP");
    const { status, stderr } = await workers("drain", "silent/s1", "--wait", "100ms");
    one.kill("SIGCONT");
    expect(status).toBe(120);
    expect(stderr).toContain("silent/s1 has not answered within 100ms; it may do it yet");
    expect(await one.ended).toBe(0); // and it did
  }, 120_000);

  test("is told of a broker that is not there", async () => {
    const nobody = await startNatsServer();
    await nobody.stop();
    const child = spawn(
      kNodeProgram,
      [kMain, "workers", "list", "--server", nobody.url, "--insecure"],
      { stdio: ["ignore", "ignore", "pipe"] },
    );
    let text = "";
    for await (const chunk of child.stderr.setEncoding("utf8")) text += chunk;
    expect(text).toContain(`no broker answers at ${nobody.url}`);
  }, 120_000);
});
