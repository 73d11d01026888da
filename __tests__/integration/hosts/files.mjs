// Uses a workspace's files: HOW WORKSPACE.
//   write: writes a file again and again, now one content and now another, until it is killed.
//   terminate: workers are terminated while calls of theirs are under way; the main thread goes on.
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { isMainThread, Worker, workerData } from "node:worker_threads";
import { LocalNativeRunner, say } from "./common.mjs";

const kWorkers = 12;
const kCalls = 200;

const contents = [Buffer.alloc(200_000, "a"), Buffer.alloc(300_000, "b")];

async function writeForEver(files) {
  await files.write("file", contents[0]);
  say("writing");
  for (let i = 1; ; i += 1) await files.write("file", contents[i % 2]);
}

function startMany(files) {
  for (let i = 0; i < kCalls; i += 1) {
    void files.write(`file-${i % 7}`, contents[i % 2]);
    void files.read(`file-${i % 7}`).catch(() => {});
    void files.list("", { recursive: true }).catch(() => {});
  }
}

async function terminateMany(workspace) {
  for (let i = 0; i < kWorkers; i += 1) {
    const worker = new Worker(new URL(import.meta.url), { workerData: workspace });
    await once(worker, "message");
    await delay(i);
    await worker.terminate();
  }
  const { files } = new LocalNativeRunner({ shadowDir: workspace });
  await files.write("end", "still here");
  const left = (await files.list("")).filter(({ path }) => path.startsWith(".native-runner-"));
  say({ text: await files.readText("end"), left: left.length });
}

if (isMainThread) {
  const [how, workspace] = process.argv.slice(2);
  if (how === "terminate") await terminateMany(workspace);
  else await writeForEver(new LocalNativeRunner({ shadowDir: workspace }).files);
} else {
  const { parentPort } = await import("node:worker_threads");
  startMany(new LocalNativeRunner({ shadowDir: workerData }).files);
  parentPort.postMessage("started");
}
