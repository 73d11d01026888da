// Writes an audit log in one of several ways: writer.mjs PATH HOW.
//   flood   records until it is killed
//   exit    a thousand records, and process.exit() at once
//   worker  the same in a worker thread, which then ends
//   full    until its file system is full, and on when there is room again; says what it was told
import { rmSync, writeFileSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { isMainThread, Worker } from "node:worker_threads";

import { AuditLog } from "../../../../dist/index.js";
import { say } from "../common.mjs";

const [path, how] = process.argv.slice(2);
const kMany = 1000;

const grant = (at) => ({ option: "test", value: { at, text: "x".repeat(at % 700) } });

async function flood() {
  const log = new AuditLog(path, { maxBytes: 64 * 1024 });
  for (let at = 0; ; at += 1) {
    log.grant(grant(at));
    if (at % 50 !== 0) continue;
    await log.flush();
    writeSync(1, `${at + 1}\n`); // so many are in the file
  }
}

function leave() {
  const log = new AuditLog(path);
  for (let at = 0; at < kMany; at += 1) log.grant(grant(at));
  process.exit(0);
}

async function fill() {
  const errors = [];
  const log = new AuditLog(path, { onError: ({ message }) => errors.push(message) });
  const filler = join(dirname(path), "filler");
  writeFileSync(filler, Buffer.alloc(64 * 1024));
  let rejected = "";
  let count = 0;
  while (rejected === "" && count < 10_000) {
    log.grant(grant(count));
    count += 1;
    await log.flush().catch(({ code }) => {
      rejected = code;
    });
  }
  for (let at = 0; at < 10; at += 1) log.grant(grant(count + at));
  await delay(250); // it has tried again, in vain
  rmSync(filler);
  await log.close();
  say({ errors, rejected, count, lost: log.lost });
}

if (how === "flood") await flood();
else if (how === "full") await fill();
else if (how === "worker" && isMainThread) {
  const worker = new Worker(new URL(import.meta.url), { argv: [path, how] });
  await new Promise((resolve) => worker.on("exit", resolve));
  say("ended");
} else leave();
