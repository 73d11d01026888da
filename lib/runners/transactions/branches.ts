/** Checks the options of forks and merges, merges texts, and decides conflicts; native code does the rest. */

import type { MergeRequest, MergeStep } from "../../../types/addon-transaction.js";
import type {
  Change,
  ForkOptions,
  MergeConflict,
  MergeOptions,
} from "../../../types/transaction.js";
import { invalidType, invalidValue, TransactionError } from "../../errors.js";
import { expectFields, type FieldsOf } from "../../fields.js";
import { type MergeAnswer, type MergeAsked, mergeTexts } from "../../merge/merge-thread.js";
import { some } from "./changes.js";

const kForkOptions: FieldsOf<ForkOptions> = { count: true, quiesce: true };
const kMergeOptions: FieldsOf<MergeOptions> = { paths: true, onConflict: true };
const kOnConflict = ["fail", "ours", "theirs", "markers"] as const;
const kMostForks = 100;

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

/** The decisions on all steps of a plan. */
export type PlannedMerge = {
  request: MergeRequest;
  /** The paths that it changes. */
  merged: string[];
  conflicts: MergeConflict[];
};

/**
 * Returns the files of a commit for what the host has changed too: `answer` has it as conflicts.
 * @throws (rejects) TransactionError where it can't be merged
 */
export async function mergeOfCommit(
  steps: readonly MergeStep[],
  conflicts: readonly Change[],
): Promise<PlannedMerge> {
  try {
    return await mergeRequest(steps, "fail", "the host");
  } catch (error) {
    if (!(error instanceof TransactionError)) throw error;
    const { message, code, paths, reasons } = error;
    const changes = conflicts.filter(({ path }) => paths.includes(path));
    throw new TransactionError(message, code, paths, changes, reasons);
  }
}

type Texts = Required<Pick<MergeStep, "base" | "ours" | "theirs">>;
const textsOf = ({ base, ours, theirs }: MergeStep): Texts | undefined =>
  base && ours && theirs ? { base, ours, theirs } : undefined;

const areSame = (one: Uint8Array, other: Uint8Array) => Buffer.compare(one, other) === 0;

type How = Pick<MergeAsked, "prefers" | "name">;

/**
 * Merges the texts of all steps that have some, by the steps; trivially where one side has not changed them: a rename.
 * undefined for those that take too long.
 */
async function mergedTexts(
  steps: readonly MergeStep[],
  how: How,
): Promise<Map<MergeStep, MergeAnswer | undefined>> {
  const answers = new Map<MergeStep, MergeAnswer | undefined>();
  const asked = new Map<MergeStep, MergeAsked>();
  for (const step of steps) {
    const texts = textsOf(step);
    if (texts === undefined) continue;
    const { base, ours, theirs } = texts;
    if (areSame(base, ours)) answers.set(step, { merged: theirs, conflictAt: 0 });
    else if (areSame(base, theirs)) answers.set(step, { merged: ours, conflictAt: 0 });
    else asked.set(step, { ...texts, ...how });
  }
  if (asked.size === 0) return answers;
  const merged = await mergeTexts([...asked.values()]);
  [...asked.keys()].forEach((step, at) => {
    answers.set(step, merged[at]);
  });
  return answers;
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
  const prefers = onConflict === "fail" ? "markers" : onConflict;
  const texts = await mergedTexts(steps, { prefers, name });
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
      const answer = texts.get(step);
      if (texts.has(step) && !answer) {
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
