import { Worker } from "node:worker_threads";

import type { CompileAnswer, CompileJob } from "./guest/compile-worker.mjs";
import { guestScript } from "./guest-script.js";

function compileInWorker(job: CompileJob): Promise<CompileAnswer> {
  const worker = new Worker(guestScript("compile-worker.mjs"), {
    name: "native-runner-compile",
    argv: [],
    env: {},
    execArgv: ["--no-warnings"],
    workerData: job,
  });
  const answer = new Promise<CompileAnswer>((resolve, reject) => {
    worker.once("message", resolve);
    worker.once("error", reject);
    worker.once("exit", (code) => reject(new Error(`the compiler ended with ${code}`)));
  });
  return answer.finally(() => worker.terminate());
}

/** Compiles large modules off the host's thread, one at a time: each takes memory of its size. */
export class ModuleCompiler {
  #last: Promise<unknown> = Promise.resolve();

  /** @throws (rejects) what reading the file throws. */
  async compile(job: CompileJob): Promise<CompileAnswer> {
    const turn = this.#last.then(() => compileInWorker(job));
    this.#last = turn.catch(() => {});
    return turn;
  }
}
