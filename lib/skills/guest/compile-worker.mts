/**
 * The worker that reads and compiles one large module, which would block the host's thread: posts the module
 * or the failure, and the hash of the bytes it read. Started by ../module-cache.ts.
 */

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";

import { type CompileOutcome, compileModule } from "./module-limits.mjs";

export type CompileJob = { path: string; maxPages: number };
export type CompileAnswer = { hash: string; outcome: CompileOutcome };

const { path, maxPages } = workerData as CompileJob;
const bytes = new Uint8Array(readFileSync(path));
const hash = createHash("sha256").update(bytes).digest("hex");
const outcome = await compileModule(bytes, maxPages);
parentPort?.postMessage({ hash, outcome } satisfies CompileAnswer);
