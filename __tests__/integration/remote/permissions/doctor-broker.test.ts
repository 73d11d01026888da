/** `native-runner doctor broker` as it is installed: each server, and whose key it is. */

import { spawnSync } from "node:child_process";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import type { Check } from "../../../../lib/cli/worker/doctor.js";
import { kNodeProgram } from "../../support/node-arguments.js";
import { describeUnless } from "../../support/requirements.js";
import {
  type Certificates,
  makeCertificates,
  startNatsServer,
  whyNoNatsServer,
  whyNoOpenssl,
} from "../support/nats-server.js";
import { type Broker, kKeys, type Role, startBroker } from "./configured-broker.js";

const kMain = path.join(import.meta.dirname, "../../../../dist/cli/main.js");

function doctor(...words: string[]) {
  const all = [kMain, "doctor", "broker", ...words];
  const { status, stdout, stderr } = spawnSync(kNodeProgram, [...all, "--json"], {
    encoding: "utf8",
    timeout: 60_000,
  });
  expect(stderr).toBe("");
  return { status, ...(JSON.parse(stdout) as { ok: boolean; checks: Check[] }) };
}

describeUnless(whyNoNatsServer ?? whyNoOpenssl, "a broker", () => {
  let certificates: Certificates;
  let broker: Broker;
  beforeAll(async () => {
    certificates = makeCertificates();
    broker = await startBroker(certificates);
  });
  afterAll(() => broker.server.stop());
  const server = () => `tls://localhost:${broker.server.port}`;
  const as = (role: Role, ...words: string[]) => {
    const key = path.join(broker.directory, kKeys[role]);
    const access = ["--server", server(), "--credentials", key, "--tls-ca", certificates.ca];
    return doctor(...access, ...words);
  };
  const keyOf = ({ checks }: { checks: Check[] }) => checks.find(({ name }) => name === "key");

  test.each([
    ["caller a", ["--tenant", "a"], "that of callers of the tenant a"],
    [
      "caller c",
      ["--tenant", "c", "--pool", "gpu"],
      "that of callers of the tenant c in the pool gpu",
    ],
    ["worker w1", ["--worker", "build/w1"], "that of the worker build/w1"],
    ["operator ops", ["--operator", "ops"], "that of the operator ops"],
    ["caller a", [], "taken; --tenant, --worker or --operator looks whose it is"],
  ] as const)("takes the key of %s %j", (role, words, detail) => {
    const found = as(role, ...words);
    expect(keyOf(found)).toEqual({ name: "key", ok: true, detail });
    expect(found.checks.map(({ name }) => name)).toEqual(["options", server(), "key"]);
    expect(found).toMatchObject({ status: 0, ok: true });
  });

  test.each([
    ["caller a", ["--tenant", "b"], 'run commands for the tenant "b"'],
    [
      "caller c",
      ["--tenant", "c", "--pool", "build"],
      'run commands for the tenant "c" in the pool "build"',
    ],
    ["worker w1", ["--worker", "build/w2"], 'serve the pool "build" as the worker "w2"'],
    ["worker w1", ["--worker", "gpu/w1"], 'serve the pool "gpu" as the worker "w1"'],
    ["caller a", ["--operator", "ops"], 'operate workers as the operator "ops"'],
    ["operator ops", ["--operator", "other"], 'operate workers as the operator "other"'],
  ] as const)("does not take the key of %s for %j, and has the fix", (role, words, detail) => {
    const found = as(role, ...words);
    const key = keyOf(found);
    expect(key?.detail).toContain(`the broker does not let this key ${detail}`);
    expect(key?.fix).toContain("broker-config");
    expect(found).toMatchObject({ status: 1, ok: false });
  });

  test("whose certificate nobody has signed that this machine trusts is said to be so", () => {
    const key = path.join(broker.directory, kKeys["caller a"]);
    const found = doctor("--server", server(), "--credentials", key);
    expect(found.checks.at(-1)).toMatchObject({ name: server(), ok: false });
    expect(found.checks.at(-1)?.fix).toContain("--tls-ca");
    expect(found.status).toBe(1);
  });

  test("that is gone is named, beside one that is there", async () => {
    const one = await startNatsServer();
    const gone = await startNatsServer();
    await gone.stop();
    const found = doctor("--server", one.url, "--server", gone.url, "--insecure");
    expect(found.checks.map(({ name, ok }) => [name, ok])).toEqual([
      ["options", true],
      [one.url, true],
      [gone.url, false],
    ]);
    expect(found.checks.at(-1)?.fix).toContain("start the broker");
  });
});
