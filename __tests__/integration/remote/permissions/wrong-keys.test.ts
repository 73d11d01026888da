/** A worker and a caller with the key of another: both say so, at once. */

import { spawnSync } from "node:child_process";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { RemoteNativeRunner } from "../../../../lib/adapters/remote.js";
import { kNodeProgram } from "../../support/node-arguments.js";
import { describeUnless } from "../../support/requirements.js";
import { tempDirectory } from "../../support/temp.js";
import {
  type Certificates,
  makeCertificates,
  whyNoNatsServer,
  whyNoOpenssl,
} from "../support/nats-server.js";
import { type Broker, kKeys, type Role, startBroker } from "./configured-broker.js";

const kMain = path.join(import.meta.dirname, "../../../../dist/cli/main.js");

describeUnless(whyNoNatsServer ?? whyNoOpenssl, "a key of another", () => {
  let certificates: Certificates;
  let broker: Broker;
  beforeAll(async () => {
    certificates = makeCertificates();
    broker = await startBroker(certificates);
  });
  afterAll(() => broker.server.stop());
  const file = (role: Role) => path.join(broker.directory, kKeys[role]);

  test.each([
    ["another pool", ["--pool", "gpu", "--name", "w1"], /pool "gpu" as the worker "w1"/],
    ["another name", ["--pool", "build", "--name", "w2"], /pool "build" as the worker "w2"/],
  ])("ends a worker of %s", (_what, words, message) => {
    const { status, stderr } = spawnSync(
      kNodeProgram,
      [
        ...[kMain, "worker", "--server", `tls://localhost:${broker.server.port}`],
        ...["--credentials", file("worker w1"), "--tls-ca", certificates.ca],
        ...["--workspaces", tempDirectory(), ...words],
      ],
      { encoding: "utf8", timeout: 60_000 },
    );
    expect(stderr).toMatch(message);
    expect(stderr).not.toContain("serves the pool");
    expect(status).not.toBe(0);
  });

  const workers = (key: Role, ...words: string[]) =>
    spawnSync(
      kNodeProgram,
      [
        ...[kMain, "workers", ...words, "--server", `tls://localhost:${broker.server.port}`],
        ...["--credentials", file(key), "--tls-ca", certificates.ca],
      ],
      { encoding: "utf8", timeout: 60_000 },
    );

  test.each([
    ["a tenant", "caller a", "ops"],
    ["a worker", "worker w1", "ops"],
    ["another operator", "operator ops", "other"],
  ] as const)("lets nobody operate workers with the key of %s", (_who, key, operator) => {
    for (const words of [["list"], ["drain", "build/w1"]]) {
      const { status, stderr, stdout } = workers(key, ...words, "--operator", operator);
      expect(stderr).toContain(
        `the broker does not let this key operate workers as the operator "${operator}"`,
      );
      expect(stderr).toContain("fix: give the key that `broker-config --operator NAME` made");
      expect([status, stdout]).toEqual([125, ""]);
    }
  });

  test("is no operator's own (the control): there is no worker yet", () => {
    const list = workers("operator ops", "list", "--operator", "ops");
    expect(list).toMatchObject({ status: 0, stdout: "no workers\n", stderr: "" });
    const drain = workers("operator ops", "drain", "build/w1", "--operator", "ops");
    expect(drain.stderr).toContain("no worker build/w1 is connected to the broker\nfix: ");
    expect(drain.status).toBe(120);
  });

  test.each([
    ["another tenant", "caller a", "b", "build", /tenant "b"/],
    ["a pool that it may not use", "caller c", "c", "build", /tenant "c" in the pool "build"/],
  ] as const)("rejects runs of a caller for %s", async (_what, role, tenant, pool, message) => {
    const runner = new RemoteNativeRunner({
      ...{
        servers: [`tls://localhost:${broker.server.port}`],
        workspace: "/nowhere",
        tenant,
        pool,
      },
      ...{ credentials: { file: file(role) }, tls: { ca: certificates.caText } },
    });
    await expect(runner.exec({ argv: ["true"] })).rejects.toThrow(message);
    await runner.close();
  });
});
