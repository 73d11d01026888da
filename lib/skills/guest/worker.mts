/**
 * The worker for direct runs of verified skills: gets a compiled module and an input, posts the
 * answer. One skill at a time; started and ended by ../workers.ts.
 */

import { parentPort } from "node:worker_threads";

import { type ModuleRun, runModule } from "./run-module.mjs";

/** What a worker is sent. The module's code is shared with the host, not compiled again. */
export type WorkerJob = ModuleRun & { module: WebAssembly.Module };

parentPort?.on("message", ({ module, ...run }: WorkerJob) => {
  parentPort?.postMessage(runModule(module, run));
});
