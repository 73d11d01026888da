/** Checks objects from outside: the operator's file, or a caller's request. */

import * as v from "valibot";

import { unknownField } from "../../fields.js";
import { bare, record } from "../../option-schemas.js";

const kUnknown = "raw_check";

/** Schema of an object with these fields and no others; an undefined field counts as absent. */
export function fields<const Entries extends v.ObjectEntries>(entries: Entries) {
  const known = Object.keys(entries);
  return v.pipe(
    record,
    v.rawCheck(({ dataset, addIssue }) => {
      if (!dataset.typed) return;
      const input = dataset.value;
      for (const key of Object.keys(input)) {
        if (Object.hasOwn(entries, key) || input[key] === undefined) continue;
        const value = input[key];
        addIssue({
          expected: known.join(" "),
          path: [{ type: "object", origin: "key", input, key, value }],
        });
      }
    }),
    v.object(bare(entries)),
  );
}

/** An error in a value, and its place. */
export type Fault = {
  /** Field names from the top, joined as in `mounts[0].mode`; empty for the value itself. */
  field: string;
  /** The value found. */
  got: unknown;
  /** Continues "Expected … to be"; undefined for an unknown field. */
  expected: string | undefined;
  /** The error as a full sentence. */
  message: string;
};

const kLongestShown = 80;

/** Returns the JSON of a value; undefined for values that JSON lacks. */
function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return `a value of type ${typeof value}`;
  }
}

/** Formats a value for a message, in at most 80 characters. */
export function shown(value: unknown): string {
  if (value === Number.POSITIVE_INFINITY) return "Infinity";
  const text = jsonOf(value) ?? String(value);
  return text.length > kLongestShown ? `${text.slice(0, kLongestShown - 1)}…` : text;
}

function joined(path: readonly unknown[]): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === "number") return `${text}[${key}]`;
    return text === "" ? String(key) : `${text}.${String(key)}`;
  }, "");
}

function faultOf(issue: v.BaseIssue<unknown>, place: string): Fault {
  const keys = (issue.path ?? []).map(({ key }) => key);
  const field = joined(keys);
  if (issue.type === kUnknown) {
    const owner = joined([place, ...keys.slice(0, -1)].filter((key) => key !== ""));
    const name = String(keys.at(-1));
    const { message } = unknownField(name, owner, (issue.expected ?? "").split(" "));
    return { field, got: (issue.path ?? []).at(-1)?.value, expected: undefined, message };
  }
  const what = field === "" ? place : field;
  const listed = issue.type === "picklist" ? `one of ${issue.expected}` : issue.message;
  const message = `Expected \`${what}\` to be ${listed}, got ${shown(issue.input)}`;
  return { field, got: issue.input, expected: listed, message };
}

/**
 * Returns the parsed value, or the first fault.
 * @param place name of the value in messages about itself
 */
export function checked<Schema extends v.GenericSchema>(
  schema: Schema,
  value: unknown,
  place: string,
): { value: v.InferOutput<Schema> } | { fault: Fault } {
  const result = v.safeParse(schema, value, { abortEarly: true, abortPipeEarly: true });
  return result.success ? { value: result.output } : { fault: faultOf(result.issues[0], place) };
}

const kMostListed = 8;

/** Joins names for a message, and abbreviates long lists. */
export function listed(names: readonly string[]): string {
  const more = names.length - kMostListed;
  const first = names.slice(0, kMostListed).join(", ");
  return more > 0 ? `${first} and ${more} more` : first;
}

/** A request that the policy does not allow. Nothing was run, and no value was lowered silently. */
export class Refusal {
  /** The option or limit: "network.allow[1]", "limits.timeoutMs". */
  readonly field: string;
  /** The requested value, unchecked. */
  readonly asked: unknown;
  /** An allowed value, as the end of a sentence: "at most 60000". */
  readonly allowed: string;
  /** The refusal as a full sentence, for the caller. */
  readonly message: string;

  /** False if a requested directory does not exist: the policy allows it, and it may exist later. */
  readonly isFound: boolean;

  /** @param message replaces the default text if the value is malformed rather than above the policy */
  constructor(field: string, asked: unknown, allowed: string, message?: string, isFound = true) {
    this.isFound = isFound;
    this.field = field;
    this.asked = asked;
    this.allowed = allowed;
    this.message =
      message ??
      `Expected \`${field}\` to be ${allowed} by the worker's policy, got ${shown(asked)}`;
  }
}
