// A thousand records, added at once and flushed; one step of it.

import { generateKeyPairSync } from "node:crypto";
import { rmSync } from "node:fs";
import { appendFile } from "node:fs/promises";
import { join } from "node:path";

import { AuditLog } from "../../../dist/index.js";
import { bursts, millisecondsOf } from "../../host/timed.mjs";
import { runEvent } from "./event.mjs";

const kRecords = 1000;

export async function open({ workspace, how }) {
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
