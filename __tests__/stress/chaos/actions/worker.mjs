// A worker thread with runners and lanes of its own, that ends by itself or is terminated in mid-run.
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { Worker } from "node:worker_threads";

const kProgram = new URL("../host/worker.mjs", import.meta.url);
const kEnds = ["terminated", "terminated", "exited", "finished"];

export const worker = {
  name: "worker",
  weight: 2,
  async run({ random, ledger, workers }) {
    const data = workers?.take();
    if (data === undefined) return; // in a worker, or there are enough
    const how = random.pick(kEnds);
    const lifeMs = random.int(20, 1500);
    ledger.write({ event: "worker", worker: data.name, how });
    const thread = new Worker(kProgram, { workerData: { ...data, how, lifeMs } });
    const ended = once(thread, "exit");
    if (how === "terminated") {
      await delay(lifeMs);
      await thread.terminate();
    }
    await ended;
    workers.giveBack();
  },
};
