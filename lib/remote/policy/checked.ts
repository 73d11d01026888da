/** The check of objects that came from outside: a file of the operator's, or a caller's request. */

import * as v from "valibot";

import { unknownField } from "../../fields.js";
import { bare, record } from "../../runtime/config-schema.js";

const kUnknown = "raw_check";

/** An object with these fields and no other; one that is undefined is as if it were not there. */
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

/** What is wrong with a value, and where. */
export type Fault = {
  /** Names from the top, joined as in `mounts[0].mode`; empty for the value itself. */
  field: string;
  /** What was there. */
  got: unknown;
  /** Reads on from "Expected … to be"; of a field that there is not, undefined. */
  expected: string | undefined;
  /** The whole of it, in a sentence. */
  message: string;
};

const kLongestShown = 80;

/** Undefined for what JSON does not have. */
function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return `a value of type ${typeof value}`;
  }
}

/** A value for a message, in at most 80 characters. */
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
 * The value as the schema makes it, or the first fault.
 * @param place what the value is called in messages about itself.
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

/** Names for a message, not all of them where they are many. */
export function listed(names: readonly string[]): string {
  const more = names.length - kMostListed;
  const first = names.slice(0, kMostListed).join(", ");
  return more > 0 ? `${first} and ${more} more` : first;
}

/** What a caller asked for and can't have. Nothing was run, and nothing was lowered without a word. */
export class Refusal {
  /** Which option or limit: "network.allow[1]", "limits.timeoutMs". */
  readonly field: string;
  /** What was asked for. It came from outside. */
  readonly asked: unknown;
  /** What would do, as the end of a sentence: "at most 60000". */
  readonly allowed: string;
  /** All of it in a sentence, for the caller. */
  readonly message: string;

  /** Whether it is there, as far as the policy looked. Else nobody is to blame, and it may be there later. */
  readonly isFound: boolean;

  /** @param message where it is not about what the policy allows, but about what can be at all. */
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
