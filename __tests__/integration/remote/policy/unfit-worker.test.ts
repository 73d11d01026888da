/**
 * A worker under whose policy for one tenant no sandbox can be made any more: its canary finds it out, it takes no runs and
 * says why, and it comes back by itself.
 */

import { spawnSync } from "node:child_process";
import { mkdirSync, rmdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";

import { RemoteNativeRunner } from "../../../../lib/adapters/remote.js";
import type { Check } from "../../../../lib/cli/worker/doctor.js";
import { eventually } from "../../../support/waits.js";
import { kNodeProgram } from "../../support/node-arguments.js";
import { describeUnless, whyNoBubblewrap } from "../../support/requirements.js";
import { tempDirectory } from "../../support/temp.js";
import { startNatsServer, whyNoNatsServer } from "../support/nats-server.js";
import { startWorker } from "../support/worker.js";

const kMain = path.join(import.meta.dirname, "../../../../dist/cli/main.js");

describeUnless(whyNoNatsServer ?? whyNoBubblewrap, "a mount of one tenant that goes away", () => {
  const workspaces = tempDirectory();
  const data = path.join(tempDirectory("data"), "data");
  mkdirSync(data);
  const mounts = [{ hostPath: data, guestPath: "/data", mode: "ro" }];
  const policy = { mounts, tenants: { plain: { mounts: [] } } };

  function doctor() {
    const file = path.join(tempDirectory("policy"), "policy.json");
    writeFileSync(file, JSON.stringify(policy));
    const words = ["doctor", "worker", "--workspaces", workspaces, "--policy", file];
    const { status, stdout } = spawnSync(kNodeProgram, [kMain, ...words, "--json"], {
      encoding: "utf8",
    });
    return { status, checks: (JSON.parse(stdout) as { checks: Check[] }).checks };
  }

  test("takes the worker out, and brings it back", async () => {
    expect(doctor()).toMatchObject({
      status: 0,
      checks: [
        { name: "policy", ok: true },
        { name: "workspaces", ok: true, detail: workspaces },
        { name: "secrets", ok: true },
        { name: "sandbox", ok: true },
        { name: "sandbox for the tenant plain", ok: true },
      ],
    });
    const server = await startNatsServer();
    const own = { server: server.url, workspaces, policy, words: ["--metrics", "0"] };
    const worker = await startWorker(own);
    const figures = /figures at (\S+)\/metrics/.exec(worker.log())?.[1];
    const ready = async () => {
      const answer = await fetch(`${figures}/readyz`);
      return { status: answer.status, text: await answer.text() };
    };
    expect(await ready()).toEqual({ status: 200, text: "ok\n" });
    const runner = new RemoteNativeRunner({
      ...{ servers: [server.url], insecure: true, pool: "tests" },
      workspace: tempDirectory("unfit", workspaces),
    });
    const run = () => runner.exec({ argv: ["cat", "/data/file"] });
    writeFileSync(path.join(data, "file"), "there");
    expect((await run()).stdoutText).toBe("there"); // the control
    spawnSync("rm", [path.join(data, "file")]);
    rmdirSync(data);
    // Each fails: after the second the canary is asked.
    for (let n = 0; n < 2; n += 1) {
      const failed = await run().catch((error: Error) => error);
      expect(failed instanceof Error ? failed.message : failed.outcome).not.toMatchObject({
        kind: "exited",
      });
    }
    await eventually("it is not ready", async () => (await ready()).status === 503);
    expect((await ready()).text).toContain("it can make no sandbox: ");
    expect(worker.log()).toContain(data);
    const metrics = await (await fetch(`${figures}/metrics`)).text();
    expect(metrics).toContain("native_runner_worker_ready 0\n");
    expect(metrics).toMatch(/native_runner_worker_canary_failures_total [1-9]/);
    const said = doctor();
    expect(said.status).toBe(1);
    expect(said.checks.filter(({ ok }) => !ok)).toMatchObject([
      { name: "sandbox", detail: expect.stringContaining(data) as string },
    ]);
    const waits = run();
    mkdirSync(data);
    writeFileSync(path.join(data, "file"), "again");
    expect((await waits).stdoutText).toBe("again");
    expect(await ready()).toEqual({ status: 200, text: "ok\n" });
    expect(worker.log()).toContain("it can make sandboxes again");
    await runner.close();
    await worker.stop();
    await server.stop();
  }, 120_000);
});
