/** Merges texts by their lines on a thread, bounded in time and memory. */

import { Worker } from "node:worker_threads";

import { builtFile } from "../package-root.js";

/** Milliseconds that the merge of a text, or of some at once, may take: many lines that are alike take long. */
const kMergeMs = 20_000;
/** Mebibytes that it may have for that. */
const kMostMb = 1024;
/** Milliseconds that the thread stays without work: to start one takes as long as to merge hundreds of texts. */
const kIdleMs = 10_000;
/** Texts that the thread merges before it answers. */
const kAtOnce = 64;

/** Three contents, each a text in any coding without NUL, and what a conflict becomes. */
export type MergeAsked = {
  base: Uint8Array;
  ours: Uint8Array;
  theirs: Uint8Array;
  /** Which side's lines are taken where they conflict; "markers": both, between marks. */
  prefers: "ours" | "theirs" | "markers";
  /** The name of the other side, for the marks. */
  name: string;
};

/** The result, and the first line of ours, from 1, at which both sides conflict; 0: nowhere. */
export type MergeAnswer = { merged: Uint8Array; conflictAt: number };

type Answers = readonly MergeAnswer[] | undefined;

/**
 * Merges all of these texts; undefined in the place of one that takes too long, or too much memory. The thread stays for
 * a while, for the next ones.
 */
export async function mergeTexts(
  asked: readonly MergeAsked[],
): Promise<(MergeAnswer | undefined)[]> {
  const thread = idle.pop() ?? new MergeThread();
  try {
    return await thread.merge(asked);
  } finally {
    thread.rest();
    idle.push(thread);
  }
}

const idle: MergeThread[] = [];

/** A thread that merges the texts of one plan, some at a time; started for the first of them. */
class MergeThread {
  #leaving: ReturnType<typeof setTimeout> | undefined;
  #worker: Worker | undefined;
  #settle: { resolve: (answers: Answers) => void; reject: (error: unknown) => void } | undefined;

  /** See {@link mergeTexts}. One call at a time. */
  async merge(asked: readonly MergeAsked[]): Promise<(MergeAnswer | undefined)[]> {
    clearTimeout(this.#leaving);
    this.#worker?.ref();
    const answers: (MergeAnswer | undefined)[] = [];
    for (let at = 0; at < asked.length; at += kAtOnce) {
      const some = asked.slice(at, at + kAtOnce);
      const together = await this.#ask(some);
      if (together) answers.push(...together);
      // One of them takes too long: each by itself.
      else for (const each of some) answers.push((await this.#ask([each]))?.[0]);
    }
    return answers;
  }

  /** Resolves with undefined where it takes too long, or too much memory: the thread is ended then. */
  async #ask(asked: readonly MergeAsked[]): Promise<Answers> {
    this.#worker ??= this.#start();
    const worker = this.#worker;
    let late: ReturnType<typeof setTimeout> | undefined;
    try {
      return await new Promise<Answers>((resolve, reject) => {
        this.#settle = { resolve, reject };
        late = setTimeout(() => {
          this.#worker = undefined;
          void worker.terminate();
          resolve(undefined);
        }, kMergeMs);
        worker.postMessage(asked);
      });
    } finally {
      clearTimeout(late);
      this.#settle = undefined;
    }
  }

  #start(): Worker {
    const worker = new Worker(builtFile("merge/thread.js"), {
      name: "native-runner-merge",
      execArgv: [],
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: kMostMb },
    });
    // Of one that was ended before, nothing is awaited any more.
    const settle = () => (this.#worker === worker ? this.#settle : undefined);
    worker.on("message", (answers: Answers) => settle()?.resolve(answers));
    worker.on("error", (error) => {
      const isFull = (error as NodeJS.ErrnoException).code === "ERR_WORKER_OUT_OF_MEMORY";
      const waiting = settle();
      this.#worker = undefined;
      if (isFull) waiting?.resolve(undefined);
      else waiting?.reject(error);
    });
    worker.on("exit", () => settle()?.reject(new Error("the thread of merges has ended")));
    return worker;
  }

  /** Ends in a while, unless it merges again; until then it keeps no process from ending. */
  rest(): void {
    this.#worker?.unref();
    this.#leaving = setTimeout(() => {
      idle.splice(idle.indexOf(this), 1);
      void this.#worker?.terminate();
    }, kIdleMs).unref();
  }
}
