/** Schemas of the messages about transactions: the receiver checks each, with a ceiling for every field. Pure. */

import * as v from "valibot";

import type { MergeReport } from "../../../types/transaction.js";
import { invalidValue } from "../../errors.js";
import { WireError } from "./frame.js";

/** Most forks at once, as for a transaction of this machine. */
const kMostForks = 100;
/** Most paths of a merge; a frame has room for no more of them. */
const kMostPaths = 2 ** 21;
const kMostText = 4_000;
const kMostPath = 65_536;

const run = v.pipe(v.number(), v.safeInteger(), v.minValue(1));
const id = v.pipe(v.string(), v.regex(/^[0-9a-f]{12}$/));
const path = v.pipe(v.string(), v.maxLength(kMostPath));
const text = v.pipe(v.string(), v.maxLength(kMostText));
/** Options that the transaction of the worker checks itself. */
const options = v.looseObject({});

const request = v.variant("way", [
  v.object({ way: v.literal("open"), options }),
  v.object({ way: v.literal("resume"), id, options }),
  v.object({ way: v.literal("list"), sizes: v.optional(v.boolean()) }),
  /** Hold a slot for a fork of the transaction that is the caller's run `of`. */
  v.object({ way: v.literal("fork"), of: run }),
]);

/** A caller's request for a transaction on a worker. */
export type TransactionRequest = v.InferOutput<typeof request>;

const opened = v.object({
  id,
  parent: v.optional(id),
  backend: v.picklist(["overlay", "copy"]),
  backendReason: v.optional(text),
  recovered: v.optional(v.picklist(["completed", "rolled-back", "torn"])),
});

/** A transaction that a worker has opened. */
export type OpenedTransaction = v.InferOutput<typeof opened>;

const forkCount = v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(kMostForks));

/** The caller's runs that hold the slots of forks. */
const forkRuns = v.pipe(
  v.array(run),
  v.minLength(1),
  v.maxLength(kMostForks),
  v.check((runs) => new Set(runs).size === runs.length, "a run is named twice"),
);

const report = v.object({
  merged: v.pipe(v.array(path), v.maxLength(kMostPaths)),
  conflicts: v.pipe(v.array(v.object({ path, reason: text })), v.maxLength(kMostPaths)),
  audit: v.looseObject({ kind: v.literal("native.transaction") }),
});

/** @throws TypeError that names what is wrong with a caller's words */
function asked<Schema extends v.GenericSchema>(
  schema: Schema,
  value: unknown,
  what: string,
): v.InferOutput<Schema> {
  const { success, output, issues } = v.safeParse(schema, value);
  if (success) return output;
  const [issue] = issues;
  const field = issue === undefined ? null : v.getDotPath(issue);
  throw invalidValue(`${what}${field === null ? "" : `.${field}`}: ${issue?.message}`);
}

/** @throws WireError if the worker's words are wrong */
function answered<Schema extends v.GenericSchema>(
  schema: Schema,
  value: unknown,
  what: string,
): v.InferOutput<Schema> {
  const { success, output, issues } = v.safeParse(schema, value);
  if (success) return output;
  throw new WireError(`what the worker says of ${what} is wrong: ${issues[0]?.message}`);
}

/** @throws TypeError */
export const readRequest = (value: unknown): TransactionRequest =>
  asked(request, value, "transaction");

/** @throws TypeError */
export const readRun = (value: unknown, field: string): number => asked(run, value, field);

/** @throws TypeError */
export const readForkCount = (value: unknown): number => asked(forkCount, value, "count");

/** @throws TypeError */
export const readForkRuns = (value: unknown): number[] => asked(forkRuns, value, "runs");

/** @throws WireError */
export const readOpened = (value: unknown): OpenedTransaction =>
  answered(opened, value, "a transaction");

/**
 * @param count how many there have to be
 * @throws WireError
 */
export const readForks = (value: unknown, count: number): OpenedTransaction[] =>
  answered(v.pipe(v.array(opened), v.length(count)), value, "forks");

/** @throws WireError */
export const readMergeReport = (value: unknown): MergeReport =>
  answered(report, value, "a merge") as unknown as MergeReport;
