/**
 * The workers that run verified skills directly. A worker serves one skill at a time and is kept for the
 * next; a worker that was ended, or used much memory, is replaced. Idle workers do not keep the process
 * alive.
 */

import { Worker } from "node:worker_threads";

import { checkAnswer, type SkillAnswer, SkillError } from "./answer.js";
import type { WorkerJob } from "./guest/worker.mjs";
import { guestScript } from "./guest-process.js";

/** A worker whose skill grew its memory beyond this is not kept: ending it frees the memory. */
const kKeepBelowBytes = 32 * 1024 ** 2;

/** Limits of V8's allocations for a worker besides the skill's memory: mostly the longest output. */
const kResourceLimits = {
  maxOldGenerationSizeMb: 384,
  maxYoungGenerationSizeMb: 32,
  stackSizeMb: 4,
};

function startWorker(): Worker {
  const worker = new Worker(guestScript("worker.mjs"), {
    name: "native-runner-skill",
    argv: [],
    env: {},
    execArgv: ["--no-warnings"],
    stdin: false,
    stdout: true,
    stderr: true,
    resourceLimits: kResourceLimits,
  });
  worker.on("error", () => {}); // the death of an idle worker is not an error
  worker.unref();
  return worker;
}

function died(error: unknown): SkillAnswer {
  const code = (error as NodeJS.ErrnoException).code;
  if (code === "ERR_WORKER_OUT_OF_MEMORY") {
    return {
      success: false,
      error_kind: "limit",
      limit: "memory",
      error: "its worker had no memory",
    };
  }
  const reason = error instanceof Error ? error.message : String(error);
  return { success: false, error_kind: "protocol", error: `its worker ended: ${reason}` };
}

function aborted(signal: AbortSignal | undefined): SkillError {
  const cause: unknown = signal?.reason;
  return new SkillError("the call was aborted", { code: "ERR_SKILL_ABORTED", cause });
}

/** Runs a job in a worker until it answers, dies, exceeds its time limit or is aborted. */
function answerFrom(
  worker: Worker,
  job: WorkerJob,
  maxDurationMs: number,
  signal: AbortSignal | undefined,
): Promise<SkillAnswer> {
  return new Promise((resolve, reject) => {
    // The only deadline kept here and not by the native side, which can't end a worker.
    const deadline = setTimeout(() => {
      const error = `it took longer than ${maxDurationMs} ms`;
      finish(() => resolve({ success: false, error_kind: "limit", limit: "time", error }));
    }, maxDurationMs);
    const onAbort = () => finish(() => reject(aborted(signal)));
    const onMessage = (message: unknown) => finish(() => resolve(checkAnswer(message)));
    const onError = (error: unknown) => finish(() => resolve(died(error)));
    const onExit = (code: number) => finish(() => resolve(died(`exit code ${code}`)));
    const finish = (settle: () => void) => {
      clearTimeout(deadline);
      signal?.removeEventListener("abort", onAbort);
      worker.off("message", onMessage).off("error", onError).off("exit", onExit);
      settle();
    };
    worker.on("message", onMessage).on("error", onError).on("exit", onExit);
    signal?.addEventListener("abort", onAbort, { once: true });
    if (signal?.aborted) onAbort();
    else worker.postMessage(job);
  });
}

const mayBeKept = (answer: SkillAnswer) =>
  answer.duration_ms !== undefined && (answer.memory_peak_bytes ?? 0) < kKeepBelowBytes;

/** A pool of workers. */
export class SkillWorkers {
  readonly #idle = new Set<Worker>();
  readonly #waiting: (() => void)[] = [];
  readonly #max: number;
  #busy = 0;
  #isClosed = false;

  /** @param max number of concurrent workers; further jobs wait, first in, first out. */
  constructor(max: number) {
    this.#max = max;
  }

  /**
   * Resolves with the answer, which is a failure naming the limit if a limit ended it.
   * @throws (rejects) SkillError if `signal` is aborted, or the pool is closed.
   */
  async run(
    job: WorkerJob,
    maxDurationMs: number,
    signal: AbortSignal | undefined,
  ): Promise<SkillAnswer> {
    await this.#takePlace(signal);
    try {
      if (this.#isClosed)
        throw new SkillError("the executor is closed", { code: "ERR_SKILL_ENGINE" });
      return await this.#runIn(this.#takeWorker(), job, maxDurationMs, signal);
    } finally {
      this.#givePlace();
    }
  }

  /** Ends the idle workers; running ones end with their skill. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const idle = [...this.#idle];
    this.#idle.clear();
    await Promise.all(idle.map((worker) => worker.terminate()));
  }

  async #runIn(
    worker: Worker,
    job: WorkerJob,
    maxDurationMs: number,
    signal: AbortSignal | undefined,
  ): Promise<SkillAnswer> {
    let answer: SkillAnswer | undefined;
    try {
      answer = await answerFrom(worker, job, maxDurationMs, signal);
      return answer;
    } finally {
      if (answer !== undefined && mayBeKept(answer) && !this.#isClosed) {
        worker.unref();
        this.#idle.add(worker);
      } else {
        await worker.terminate();
      }
    }
  }

  #takeWorker(): Worker {
    const [kept] = this.#idle;
    const worker = kept ?? startWorker();
    this.#idle.delete(worker);
    worker.ref();
    if (kept === undefined) worker.once("exit", () => this.#idle.delete(worker));
    return worker;
  }

  async #takePlace(signal: AbortSignal | undefined): Promise<void> {
    if (signal?.aborted) throw aborted(signal);
    if (this.#busy < this.#max) {
      this.#busy += 1;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const enter = () => {
        signal?.removeEventListener("abort", leave);
        resolve();
      };
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(enter), 1);
        reject(aborted(signal));
      };
      this.#waiting.push(enter);
      signal?.addEventListener("abort", leave, { once: true });
    });
  }

  /** Passes the place to the next waiting job, or frees it. */
  #givePlace(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#busy -= 1;
    else next();
  }
}
