/**
 * Checks objects that never reach the addon, which checks all others. Unknown fields are refused, since an
 * ignored field may be a misspelled protection.
 */

import leven from "leven";

import { invalidType, invalidValue } from "./errors.js";

/** The names of an object's fields; the compiler checks that none is missing. */
export type FieldsOf<Options> = { readonly [Name in keyof Required<Options>]: true };

const kLongestShown = 200;

/** Creates a TypeError for an unknown field, with the native wording and code. */
export function unknownField(name: string, place: string, known: readonly string[]): TypeError {
  const shown = JSON.stringify(name.slice(0, kLongestShown));
  const listed = known.map((each) => `\`${each}\``).join(", ");
  const meant = suggestion(name, known) || (listed && `; there are ${listed}`);
  return invalidValue(`Unknown field ${shown} in \`${place}\`${meant}`);
}

/** @throws TypeError naming `place` for anything but an object; an array is none. */
export function expectObject(value: unknown, place: string): asserts value is object {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return;
  throw invalidType(place, "an object", value);
}

/**
 * Checks the object's own enumerable string keys, like the addon: those that are not `known` must be
 * undefined.
 * @param place name of the object in messages.
 * @throws TypeError if it is not an object; ERR_INVALID_ARG_VALUE with the nearest name for an unknown field.
 */
export function expectFields(
  value: unknown,
  place: string,
  known: Readonly<Record<string, true>>,
): void {
  expectObject(value, place);
  for (const name of Object.keys(value)) {
    if (Object.hasOwn(known, name)) continue;
    if ((value as Record<string, unknown>)[name] === undefined) continue;
    throw unknownField(name, place, Object.keys(known));
  }
}

/** Returns variables without those that are undefined, as process.env's type has them. */
export function definedOnly(env: unknown): Record<string, string> | undefined {
  if (typeof env !== "object" || env === null || Array.isArray(env)) return env as undefined;
  const names = Object.keys(env);
  const given = env as Record<string, string>;
  const entries = names.map((name) => [name, given[name]] as const);
  if (entries.every(([, value]) => value !== undefined)) return given;
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as Record<
    string,
    string
  >;
}

const kLongestName = 64;
const kShortestPart = 3;

const plain = (name: string) => name.toLowerCase().replace(/[^a-z0-9]/g, "");
const lastPart = (path: string) => path.slice(path.lastIndexOf(".") + 1);
const isPart = (part: string, whole: string) =>
  part.length >= kShortestPart && whole.includes(part);

/**
 * Returns the choice that `name` was most likely meant to be; undefined if none is close. Of a dotted path
 * ("limits.timeoutMs") only the last part is compared; otherwise like the addon's NearestName.
 */
export function nearest(name: string, choices: readonly string[]): string | undefined {
  if (name.length > kLongestName) return undefined;
  const meant = plain(name);
  let least = Math.max(2, Math.floor(name.length / 3)) + 1;
  let found: string | undefined;
  for (const choice of choices) {
    const distance = leven(meant, plain(lastPart(choice)));
    if (distance >= least) continue;
    least = distance;
    found = choice;
  }
  return (
    found ??
    choices.find((choice) => {
      const other = plain(lastPart(choice));
      return isPart(meant, other) || isPart(other, meant);
    })
  );
}

/** Returns "; did you mean …?", or nothing. */
export function suggestion(name: string, choices: readonly string[]): string {
  const meant = nearest(name, choices);
  return meant === undefined ? "" : `; did you mean \`${meant}\`?`;
}

/** Reads and copies runner options; the addon checks their values. */

function frozen(element: unknown): unknown {
  if (typeof element !== "object" || element === null || Array.isArray(element)) return element;
  return Object.freeze(Object.assign(Object.create(null), element));
}

/** Returns a frozen copy of an object and of the arrays in it; any other value as it is. */
export function frozenCopy<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const copy: Record<string, unknown> = Object.assign(Object.create(null), value);
  for (const [name, each] of Object.entries(copy)) {
    if (Array.isArray(each)) copy[name] = Object.freeze([...each]);
  }
  return Object.freeze(copy) as Value;
}

/**
 * Returns a copy of the options without a prototype: each option is read once; arrays and the objects in them
 * are copied and frozen.
 * @throws TypeError if `options` is not an object.
 */
export function copyOptions<Options extends object>(options: Options): Options {
  expectObject(options, "options");
  const copy: Record<string, unknown> = Object.assign(Object.create(null), options);
  for (const [name, value] of Object.entries(copy)) {
    if (Array.isArray(value)) copy[name] = Object.freeze([...value].map(frozen));
  }
  return copy as Options;
}
