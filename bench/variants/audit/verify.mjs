// A look at a log of 100,000 records.

import { generateKeyPairSync } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";

import { AuditLog, verifyAuditLog } from "../../../dist/index.js";
import { bursts, millisecondsOf } from "../../host/timed.mjs";
import { runEvent } from "./event.mjs";

const kRecords = 100_000;
const kAtOnce = 10_000;

export async function open({ workspace, isSigned }) {
  const event = await runEvent(workspace);
  const path = join(workspace, `audit-verify-${isSigned}`);
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const log = new AuditLog(path, { key: privateKey });
  for (let at = 0; at < kRecords; at += 1) {
    log.grant(event);
    if (at % kAtOnce === 0) await log.flush();
  }
  await log.close();
  async function step() {
    const { ok, records } = await verifyAuditLog(path, isSigned ? { publicKey } : {});
    if (!ok || records < kRecords) throw new Error(`the log of ${records} records is not whole`);
  }
  return {
    burst: bursts(() => millisecondsOf(step)),
    async close() {
      for (const each of [path, `${path}.lock`]) rmSync(each, { force: true });
    },
  };
}
