/** What forks and merges of a transaction take and do, in JavaScript: options, the merging of texts, conflicts. */

import { Worker } from "node:worker_threads";

import type { MergeRequest, MergeStep } from "../../../types/addon-transaction.js";
import type { ForkOptions, MergeConflict, MergeOptions } from "../../../types/transaction.js";
import { invalidType, invalidValue, TransactionError } from "../../errors.js";
import { expectFields, type FieldsOf } from "../../fields.js";
import type { MergeAnswer, MergeAsked } from "../../merge-thread/merged-lines.js";
import { builtFile } from "../../package-root.js";
import { some } from "./changes.js";

const kForkOptions: FieldsOf<ForkOptions> = { count: true, quiesce: true };
const kMergeOptions: FieldsOf<MergeOptions> = { paths: true, onConflict: true };
const kOnConflict = ["fail", "ours", "theirs", "markers"] as const;
const kMostForks = 100;
/** Milliseconds that the merge of one text may take: some take longer the more lines are alike. */
const kMergeMs = 20_000;

/** @throws TypeError or RangeError */
export function forkOptions(options: ForkOptions): ForkOptions {
  expectFields(options, "options", kForkOptions);
  const { count, quiesce } = options;
  if (quiesce !== undefined && typeof quiesce !== "boolean") {
    throw invalidType("quiesce", "a boolean", quiesce);
  }
  if (count === undefined) return { quiesce };
  if (typeof count !== "number") throw invalidType("count", "a number", count);
  if (!Number.isInteger(count) || count < 1 || count > kMostForks) {
    const message = `Expected \`count\` to be an integer from 1 to ${kMostForks}, got ${count}`;
    throw Object.assign(new RangeError(message), { code: "ERR_OUT_OF_RANGE" });
  }
  return { count, quiesce };
}

/** @throws TypeError; native code checks the paths. */
export function mergeOptions(options: MergeOptions): MergeOptions {
  expectFields(options, "options", kMergeOptions);
  const { onConflict } = options;
  if (onConflict === undefined || kOnConflict.includes(onConflict)) return options;
  const known = kOnConflict.map((each) => JSON.stringify(each)).join(", ");
  throw invalidValue(
    `Expected \`onConflict\` to be one of ${known}, got ${JSON.stringify(onConflict)}`,
  );
}

/** A thread that merges the texts of one plan, started for the first of them. */
class MergeThread {
  #worker: Worker | undefined;
  #number = 0;

  /** Resolves with undefined where it takes too long. */
  async merge(asked: MergeAsked): Promise<MergeAnswer | undefined> {
    this.#worker ??= new Worker(builtFile("merge-thread.js"), {
      name: "native-runner-merge",
      execArgv: [],
      env: {},
    });
    const worker = this.#worker;
    this.#number += 1;
    const number = this.#number;
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        this.#worker = undefined;
        void worker.terminate();
        resolve(undefined);
      }, kMergeMs);
      worker.removeAllListeners();
      worker.once("error", (error) => {
        clearTimeout(late);
        reject(error);
      });
      worker.once("message", (answer: MergeAnswer & { number: number }) => {
        clearTimeout(late);
        resolve(answer);
      });
      worker.postMessage({ number, ...asked });
    });
  }

  async end(): Promise<void> {
    await this.#worker?.terminate();
  }
}

/** What a plan comes to. */
export type PlannedMerge = {
  request: MergeRequest;
  /** The paths that it changes. */
  merged: string[];
  conflicts: MergeConflict[];
};

type Texts = Required<Pick<MergeStep, "base" | "ours" | "theirs">>;
const textsOf = ({ base, ours, theirs }: MergeStep): Texts | undefined =>
  base && ours && theirs ? { base, ours, theirs } : undefined;

const areSame = (one: Uint8Array, other: Uint8Array) => Buffer.compare(one, other) === 0;

/** Merges the texts of a step; trivially where one side has not changed it: a rename. */
async function mergedTexts(
  { base, ours, theirs }: Texts,
  thread: MergeThread,
  how: Pick<MergeAsked, "prefers" | "name">,
): Promise<MergeAnswer | undefined> {
  if (areSame(base, ours)) return { merged: theirs, conflictAt: 0 };
  if (areSame(base, theirs)) return { merged: ours, conflictAt: 0 };
  return thread.merge({ base, ours, theirs, ...how });
}

/**
 * Returns what to do of a plan. Texts are merged on a thread.
 * @param name of the other side, for marks
 * @throws (rejects) TransactionError for conflicts that `onConflict` does not decide
 */
export async function mergeRequest(
  steps: readonly MergeStep[],
  onConflict: NonNullable<MergeOptions["onConflict"]>,
  name: string,
): Promise<PlannedMerge> {
  const request: MergeRequest = { theirs: [], files: [], removed: [] };
  const conflicts: MergeConflict[] = [];
  const undecided: MergeConflict[] = [];
  const thread = new MergeThread();
  const prefers = onConflict === "fail" ? "markers" : onConflict;
  try {
    for (const step of steps) {
      const { path, verdict, mode, removed } = step;
      const clash = (reason: string, isText = false) => {
        const decides =
          onConflict === "ours" || onConflict === "theirs" || (isText && onConflict === "markers");
        (decides ? conflicts : undecided).push({ path, reason });
      };
      if (verdict === "theirs") {
        request.theirs.push({ path, mode });
      } else if (verdict === "conflict") {
        clash(step.reason);
        if (onConflict === "theirs") request.theirs.push({ path, mode: 0 });
      } else {
        const texts = textsOf(step);
        const answer = texts && (await mergedTexts(texts, thread, { prefers, name }));
        if (texts && !answer) {
          clash("both have changed it, and it takes too long to be merged");
          if (onConflict === "theirs") request.theirs.push({ path, mode });
          continue;
        }
        if (answer && answer.conflictAt > 0) {
          clash(`both have changed the lines from line ${answer.conflictAt} on`, true);
        }
        if (removed !== "") request.removed.push(removed);
        request.files.push({ path, mode, ...(answer && { contents: answer.merged }) });
      }
    }
  } finally {
    await thread.end();
  }
  if (undecided.length > 0) {
    const paths = undecided.map((each) => each.path);
    const [first] = undecided;
    const message = `${some(paths)} can't be merged: ${first?.reason}`;
    throw new TransactionError(message, "ERR_TRANSACTION_CONFLICT", paths, [], undecided);
  }
  const changed = [...request.theirs, ...request.files].map(({ path }) => path);
  const merged = [...changed, ...request.removed].sort((one, other) => (one < other ? -1 : 1));
  return { request, merged, conflicts };
}
