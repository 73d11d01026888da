import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Command } from "commander";
import { afterAll, expect, test } from "vitest";

import {
  type BrokerCliOptions,
  brokerOptions,
  withBrokerOptions,
} from "../../../lib/cli/worker/commands.js";
import { BrokerAccess } from "../../../lib/remote/broker/broker-access.js";

const directory = mkdtempSync(path.join(tmpdir(), "broker-options-"));
afterAll(() => rmSync(directory, { recursive: true }));
const pem = path.join(directory, "ca.pem");
writeFileSync(pem, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");

function read(...words: string[]) {
  const command = withBrokerOptions(new Command());
  command.parse(words, { from: "user" });
  return brokerOptions(command.opts<BrokerCliOptions>());
}

test("are those of the broker, with what is in the files of certificates", async () => {
  const options = await read(
    "--server",
    "tls://a.test",
    "--server",
    "tls://b.test",
    "--credentials",
    "w1.nk",
    "--tls-ca",
    pem,
  );
  expect(options).toEqual({
    servers: ["tls://a.test", "tls://b.test"],
    credentials: { file: "w1.nk" },
    tls: { ca: expect.stringContaining("BEGIN CERTIFICATE"), cert: undefined, key: undefined },
  });
  expect(new BrokerAccess(options).insecure).toBe(false);
  const insecure = await read("--server", "nats://127.0.0.1:4222", "--insecure");
  expect(insecure).toEqual({ servers: ["nats://127.0.0.1:4222"], insecure: true });
  expect(new BrokerAccess(insecure).insecure).toBe(true);
});

test("name the option whose file can't be read", async () => {
  await expect(read("--tls-key", `${directory}/gone`)).rejects.toThrow(
    `--tls-key ${directory}/gone can't be read: ENOENT`,
  );
});

test("have none that takes a secret", () => {
  const names = withBrokerOptions(new Command()).options.map((each) => each.long);
  expect(names.filter((name) => /pass|token|seed|user/.test(name ?? ""))).toEqual([]);
});
