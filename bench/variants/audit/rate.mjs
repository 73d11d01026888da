// Ten records each millisecond, for a second; what the thread that adds them notices.

import { rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { AuditLog } from "../../../dist/index.js";
import { bursts, millisecondsOf } from "../../host/timed.mjs";
import { runEvent } from "./event.mjs";

const kEachMs = 10;
const kMs = 1000;

export async function open({ workspace }) {
  const event = await runEvent(workspace);
  const path = join(workspace, "audit-rate");
  const log = new AuditLog(path);
  async function step() {
    const begin = performance.now();
    for (let added = 0; added < kEachMs * kMs; ) {
      const due = Math.min((performance.now() - begin) * kEachMs, kEachMs * kMs);
      for (; added < due; added += 1) log.grant(event);
      await delay(1);
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
