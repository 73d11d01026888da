// What an audit log costs: a record, a run's thread, and a look at all of it.

import { generateKeyPairSync } from "node:crypto";
import { rmSync } from "node:fs";
import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { bursts, millisecondsOf } from "../bursts.mjs";
import { loopDelay } from "./scenario.mjs";

const kRecords = 1000;

const record = {
  name: "audit-record",
  work:
    `${kRecords.toLocaleString("en")} records of a run, 1.6 KiB each, added at once and flushed: chained; ` +
    "signed as well, each 64th; and lines of the same length that are appended one by one, without a chain",
  variants: ["auditChained", "auditSigned", "auditPlain"],
  sizes: { full: { rounds: 30, runs: 10 }, quick: { rounds: 3, runs: 3 } },
  request: {},
  measures: [
    {
      name: "a record",
      unit: "µs",
      sample: (burst) => burst.runMs.map((ms) => (ms / kRecords) * 1000),
      limit: { of: "p50", atMost: 60, aim: 40 },
    },
  ],
};

const rate = {
  name: "audit-rate",
  work: "10,000 records a second, 10 each millisecond, for a second, and then a flush",
  variants: ["auditRate"],
  sizes: { full: { rounds: 10, runs: 1 }, quick: { rounds: 2, runs: 1 } },
  request: { watchLoop: true },
  measures: [
    { ...loopDelay, limit: { of: "p99", atMost: 5, aim: 2.5 } },
    {
      name: "records lost",
      unit: "",
      sample: (burst) => burst.lost,
      limit: { of: "max", atMost: 0, aim: 0 },
    },
  ],
};

const verify = {
  name: "audit-verify",
  work: "verifyAuditLog of 100,000 records of a run, 1.6 KiB each, chained and signed, without the key and with it",
  variants: ["auditVerify", "auditVerifySigned"],
  sizes: { full: { rounds: 5, runs: 1 }, quick: { rounds: 1, runs: 1 } },
  request: {},
  measures: [
    {
      name: "a million records",
      unit: "s",
      sample: (burst) => burst.runMs.map((ms) => (ms * 10) / 1000),
      limit: { of: "p50", atMost: 60, aim: 20 },
    },
    {
      name: "a million records, with signatures",
      of: "auditVerifySigned",
      unit: "s",
      sample: (burst) => burst.runMs.map((ms) => (ms * 10) / 1000),
      limit: { of: "p50", atMost: 60, aim: 20 },
    },
  ],
};

export const scenarios = [record, rate, verify];

// The record of a run, as a log has it: of one that was really run.

/** A grant whose text is as long as the record of a run; what a log takes from outside. */
async function runEvent(workspace) {
  const { BubblewrapNativeRunner } = await import("../../dist/index.js");
  const runner = new BubblewrapNativeRunner({ shadowDir: workspace, prewarm: 0, clone: "never" });
  const { audits, exitCode } = await runner.exec({ argv: ["/bin/true"] });
  await runner.close();
  return { option: "run", value: { ...audits[0], exitCode } };
}

// A thousand records, added at once and flushed; one step of it.

async function openRecord({ workspace, how }) {
  const { AuditLog } = await import("../../dist/index.js");
  const event = await runEvent(workspace);
  const path = join(workspace, `audit-${how}`);
  const key = how === "signed" ? generateKeyPairSync("ed25519").privateKey : undefined;
  const log = how === "plain" ? undefined : new AuditLog(path, { key });
  const line = `${JSON.stringify(event)}\n`;
  async function step() {
    for (let at = 0; at < kRecords; at += 1) {
      if (log === undefined) await appendFile(path, line);
      else log.grant(event);
    }
    await log?.flush();
  }
  return {
    burst: bursts(() => millisecondsOf(step)),
    async close() {
      await log?.close();
      for (const each of [path, `${path}.lock`]) rmSync(each, { force: true });
    },
  };
}

// Ten records each millisecond, for a second; what the thread that adds them notices.

const kEachMs = 10;
const kMs = 1000;

async function openRate({ workspace }) {
  const { AuditLog } = await import("../../dist/index.js");
  const event = await runEvent(workspace);
  const path = join(workspace, "audit-rate");
  const log = new AuditLog(path);
  async function step() {
    const begin = performance.now();
    for (let added = 0; added < kEachMs * kMs; ) {
      const due = Math.min((performance.now() - begin) * kEachMs, kEachMs * kMs);
      for (; added < due; added += 1) log.grant(event);
      await sleep(1);
    }
    await log.flush();
  }
  return {
    burst: bursts(
      () => millisecondsOf(step),
      () => ({ lost: log.lost }),
    ),
    async close() {
      await log.close();
      for (const each of [path, `${path}.lock`]) rmSync(each, { force: true });
    },
  };
}

// A look at a log of 100,000 records.

const kVerified = 100_000;
const kBetweenFlushes = 10_000;

async function openVerify({ workspace, isSigned }) {
  const { AuditLog, verifyAuditLog } = await import("../../dist/index.js");
  const event = await runEvent(workspace);
  const path = join(workspace, `audit-verify-${isSigned}`);
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const log = new AuditLog(path, { key: privateKey });
  for (let at = 0; at < kVerified; at += 1) {
    log.grant(event);
    if (at % kBetweenFlushes === 0) await log.flush();
  }
  await log.close();
  async function step() {
    const { ok, records } = await verifyAuditLog(path, isSigned ? { publicKey } : {});
    if (!ok || records < kVerified) throw new Error(`the log of ${records} records is not whole`);
  }
  return {
    burst: bursts(() => millisecondsOf(step)),
    async close() {
      for (const each of [path, `${path}.lock`]) rmSync(each, { force: true });
    },
  };
}

export const variants = {
  auditChained: {
    title: "chained",
    kind: "ours",
    open: openRecord,
    options: { how: "chained" },
  },
  auditSigned: {
    title: "chained and signed",
    kind: "ours",
    open: openRecord,
    options: { how: "signed" },
  },
  auditPlain: {
    title: "plain lines",
    kind: "floor",
    open: openRecord,
    options: { how: "plain" },
  },
  auditRate: { title: "chained, at a rate", kind: "ours", open: openRate },
  auditVerify: {
    title: "the chain",
    kind: "ours",
    open: openVerify,
    options: { isSigned: false },
  },
  auditVerifySigned: {
    title: "the chain and signatures",
    kind: "ours",
    open: openVerify,
    options: { isSigned: true },
  },
};
