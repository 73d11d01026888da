// Runs in worker threads: HOW WORKSPACE.
//   together: several workers and the main thread run commands at once.
//   terminate: workers are terminated in mid-run, at random moments; the main thread goes on.
//   exit: workers call process.exit in mid-run.
//   busy: workers are terminated while they start one run after another.
//   handles: workers end with runs and runners that nobody waits for.
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { leftovers, makeRunner, say } from "./common.mjs";

const kWorkers = 4;
const kRuns = 12;
const kinds = ["strict", "warm", "local", "compat"];

const text = (bytes) => Buffer.from(bytes).toString();

async function runMany(workspace, name) {
  const runners = kinds.map((kind) => makeRunner(kind, workspace));
  const runs = Array.from({ length: kRuns }, (_, i) =>
    runners[i % kinds.length].exec({
      argv: ["sh", "-c", 'cat; echo "$NAME"; exit "$1"', "sh", String(i)],
      env: { NAME: name },
      stdin: Buffer.from(`${i} `),
    }),
  );
  const results = await Promise.all(runs);
  await runners[kinds.indexOf("warm")].close();
  return results.every(
    ({ exitCode, stdout }, i) => exitCode === i && text(stdout) === `${i} ${name}\n`,
  );
}

function startEndless(workspace) {
  for (const kind of kinds) {
    const runner = makeRunner(kind, workspace);
    for (let i = 0; i < 3; i += 1) {
      void runner.exec({ argv: ["sh", "-c", "(setsid sleep 1000 &) & sleep 1000"] });
    }
  }
}

async function startWithoutEnd(workspace) {
  const runners = kinds.map((kind) => makeRunner(kind, workspace, { maxConcurrent: 2 }));
  const onStdout = () => {};
  for (;;) {
    const runs = runners.map((runner) =>
      runner.exec({ argv: ["echo", "x"], env: { A: "b" }, onStdout }),
    );
    await Promise.race(runs);
  }
}

async function inWorker() {
  const { how, workspace, name } = workerData;
  if (how === "together") {
    process.env.ONLY_IN = name; // a worker's own environment is what its commands get
    const good = await runMany(workspace, name);
    const own = await makeRunner("strict", workspace).exec({
      argv: ["sh", "-c", 'echo "$ONLY_IN"'],
    });
    parentPort.postMessage(good && text(own.stdout) === `${name}\n`);
    return;
  }
  if (how === "busy") {
    parentPort.postMessage("running");
    await startWithoutEnd(workspace);
  }
  startEndless(workspace);
  parentPort.postMessage("running");
  if (how === "exit") setTimeout(() => process.exit(3), randomInt(0, 60));
  if (how === "handles") parentPort.close();
}

async function endWorkers(how, workspace) {
  for (let round = 0; round < 3; round += 1) {
    const workers = Array.from(
      { length: 3 },
      () => new Worker(new URL(import.meta.url), { workerData: { how, workspace } }),
    );
    await Promise.all(
      workers.map(async (worker) => {
        const exited = once(worker, "exit");
        await once(worker, "message");
        if (how !== "exit") {
          await delay(randomInt(0, 60));
          await worker.terminate();
        }
        await exited;
      }),
    );
  }
  const left = leftovers();
  return { left, goesOn: await runMany(workspace, "main") };
}

async function inMain() {
  const [how, workspace] = process.argv.slice(2);
  if (how !== "together") {
    say(await endWorkers(how, workspace));
    return;
  }
  const names = Array.from({ length: kWorkers }, (_, i) => `worker-${i}`);
  const workers = names.map(
    (name) => new Worker(new URL(import.meta.url), { workerData: { how, workspace, name } }),
  );
  const answers = workers.map(async (worker) => {
    const exited = once(worker, "exit");
    const [good] = await once(worker, "message");
    const [code] = await exited;
    return good && code === 0;
  });
  const main = runMany(workspace, "main");
  say({ good: [await main, ...(await Promise.all(answers))], left: leftovers() });
}

await (isMainThread ? inMain() : inWorker());
