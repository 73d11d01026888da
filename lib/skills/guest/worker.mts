/**
 * The worker for direct runs of verified skills: receives a compiled module and an input, posts the answer.
 * Runs one skill at a time; started and ended by ../workers.ts.
 */

import { parentPort } from "node:worker_threads";

import { type ModuleRun, runModule } from "./run-module.mjs";

/** The message to a worker. The module's code is shared with the host, not compiled again. */
export type WorkerJob = ModuleRun & { module: WebAssembly.Module };

parentPort?.on("message", ({ module, ...run }: WorkerJob) => {
  parentPort?.postMessage(runModule(module, run));
});
