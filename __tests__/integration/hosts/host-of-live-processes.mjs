// A host with live processes, with pipes and with terminals: HOW WORKSPACE.
//   wait: says "ready" once all run, and is to be killed.
//   exit: leaves with all of them running; unread: so, with output that nobody reads.
//   workers: worker threads are terminated with theirs, in mid-start and later.
//   collect: nobody refers to them any more, and they end by themselves.
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { leftovers, makeRunner, say } from "./common.mjs";

const kHiding = "(setsid sleep 1000 &) & trap '' HUP TERM INT; echo up; sleep 1000";
const kKinds = ["strict", "compat", "local"];
const kPtys = [undefined, { cols: 80, rows: 24 }];

const start = (workspace, script) =>
  kKinds.flatMap((kind) => {
    const runner = makeRunner(kind, workspace);
    return kPtys.map((pty) => runner.spawn({ argv: ["sh", "-c", script], pty }));
  });

async function startAll(workspace, script) {
  const processes = await Promise.all(start(workspace, script));
  await Promise.all(processes.map(({ stdout }) => once(stdout, "readable")));
  return processes;
}

async function endWorkers(workspace) {
  for (let round = 0; round < 8; round += 1) {
    const worker = new Worker(new URL(import.meta.url), { workerData: { workspace } });
    await once(worker, "message");
    await delay(randomInt(0, 60));
    await worker.terminate();
  }
  return leftovers();
}

const kEnds = {
  wait: async (workspace) => {
    await startAll(workspace, kHiding);
    say("ready");
    await delay(1_000_000);
  },
  exit: async (workspace) => {
    await startAll(workspace, kHiding);
    process.exit(7);
  },
  unread: async (workspace) => {
    await startAll(workspace, "yes");
    process.exit(7);
  },
  workers: async (workspace) => say(await endWorkers(workspace)),
  collect: async (workspace) => {
    await startAll(workspace, "echo up; sleep 0.3");
    for (let left = 1000; left > 0 && leftovers().length > 0; left -= 1) {
      globalThis.gc();
      await delay(10);
    }
    say(leftovers());
  },
};

if (isMainThread) {
  const [how, workspace] = process.argv.slice(2);
  await kEnds[how](workspace);
} else {
  const starting = start(workerData.workspace, kHiding);
  parentPort.postMessage("starting");
  await Promise.all(starting);
}
