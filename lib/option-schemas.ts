/** Schemas of values from outside, and of the options that lib/options.ts describes. */

import * as v from "valibot";

import type { NativeMount } from "../types/public.js";
import {
  kCacheNames,
  type ListValue,
  type OptionRow,
  type OptionRows,
  type OptionValue,
} from "./options.js";

/** strictObject accepts an array as an object, so this checks first. */
export const record = v.custom<Record<string, unknown>>(
  (value) => typeof value === "object" && value !== null && !Array.isArray(value),
  "an object",
);

/**
 * Removes the prototype: the checker iterates over inherited names too, and other code may have added one.
 */
export function bare<Entries extends object>(entries: Entries): Entries {
  return Object.assign(Object.create(null), entries);
}

/** The limits of values; those of the application's own configuration are wider than those of a worker's input. */
export type Bounds = {
  /** Most characters of a string. */
  characters: number;
  /** Most entries of a list. */
  entries: number;
  /** Most mounts. */
  mounts: number;
  /** Refuses ".." in paths, NUL in names and empty labels, which the runner refuses or ignores later. */
  isStrict: boolean;
};

/** A schema whose output is known. */
type SchemaOf<Value> = v.GenericSchema<unknown, Value>;

/** Returns the schemas of which those of options are made. */
export function primitives({ characters, entries, mounts, isStrict }: Bounds) {
  const withoutNul = v.excludes<string, "\0", string>("\0", "a string without NUL");
  const filled = v.pipe(
    v.string("a string"),
    v.nonEmpty("a string that is not empty"),
    v.maxLength(characters, `a string of at most ${characters} characters`),
  );
  const safe = v.pipe(filled, withoutNul);
  const path = v.pipe(
    safe,
    v.startsWith("/", "an absolute path"),
    v.check((text) => !isStrict || !text.split("/").includes(".."), "a path without '..'"),
  );
  const mount = {
    hostPath: path,
    guestPath: v.optional(path),
    mode: v.picklist(["ro", "rw"]),
    label: v.optional(isStrict ? safe : v.pipe(v.string("a string"), withoutNul)),
  };
  function list<const Item extends v.GenericSchema<unknown, string>>(item: Item) {
    return v.pipe(
      v.array(item, "an array of strings"),
      v.maxLength(entries, `an array of at most ${entries} strings`),
    );
  }
  function mountsOf(object: SchemaOf<NativeMount>) {
    return v.pipe(
      v.array(object, "an array of objects"),
      v.maxLength(mounts, `an array of at most ${mounts} mounts`),
    );
  }
  return { filled, safe, path, name: isStrict ? safe : filled, mount, list, mountsOf };
}

/** True or false. */
export const flag = v.boolean("true or false");

const kCount = "an integer from 0 to 9007199254740991";

/** A safe integer that is not negative. */
export const count = v.pipe(v.number(kCount), v.safeInteger(kCount), v.minValue(0, kCount));

/** A count in a narrower range. */
export function countFrom(least: number, most = Number.MAX_SAFE_INTEGER) {
  const range = `an integer from ${least}`;
  return v.pipe(count, v.minValue(least, range), v.maxValue(most, `${range} to ${most}`));
}

/** A duration in milliseconds. JSON lacks Infinity; "none" means it, as on the command line. */
export const duration = v.pipe(
  v.custom<number | "none">(
    (value) => value === "none" || (typeof value === "number" && value > 0),
    'a number greater than 0, or "none"',
  ),
  v.transform((value) => (value === "none" ? Number.POSITIVE_INFINITY : value)),
);

/** The schemas of a place where options are written. */
export type OptionSchemas = {
  primitives: ReturnType<typeof primitives>;
  network: v.GenericSchema;
  /** An object of `primitives.mount`. */
  mount: SchemaOf<NativeMount>;
};

function itemOf({ of }: ListValue, { path, safe, name }: ReturnType<typeof primitives>) {
  switch (of) {
    case "path":
      return path;
    case "text":
      return safe;
    case "name":
      return name;
    default:
      return v.picklist(of);
  }
}

function toolLists({ path, list }: ReturnType<typeof primitives>) {
  const paths = v.optional(list(path));
  return v.pipe(record, v.strictObject(bare({ paths, exclude: paths })));
}

function rootOf({ path, safe }: ReturnType<typeof primitives>) {
  const directory = v.strictObject(bare({ directory: path }));
  const image = v.strictObject(bare({ image: safe, tag: v.optional(safe), env: v.optional(flag) }));
  return v.lazy((given) =>
    v.pipe(record, Object.hasOwn(Object(given), "image") ? image : directory),
  );
}

/** Returns the schema of an option's values. */
export function schemaOf(value: OptionValue, schemas: OptionSchemas): v.GenericSchema {
  const { primitives: of, network, mount } = schemas;
  switch (value.kind) {
    case "flag":
      return flag;
    case "count":
      return countFrom(value.least, value.most);
    case "path":
      return of.path;
    case "text":
    case "program":
      return of.safe;
    case "word":
      return v.picklist(value.words);
    case "list":
      return of.list(itemOf(value, of));
    case "mounts":
      return of.mountsOf(mount);
    case "network":
      return network;
    case "environment":
      return v.lazy((given) =>
        Array.isArray(given) ? of.list(of.safe) : v.picklist(["scrub", "inherit", "clean"]),
      );
    case "home":
      return v.lazy((given) =>
        typeof given === "object" && given !== null
          ? v.pipe(record, v.strictObject(bare({ directory: of.path })))
          : v.picklist(["none", "private", "kept"]),
      );
    case "tools":
      return v.lazy((given) =>
        typeof given === "object" && given !== null ? toolLists(of) : v.picklist(["none", "host"]),
      );
    case "caches":
      return v.lazy((given) =>
        Array.isArray(given) ? of.list(v.picklist(kCacheNames)) : v.picklist(["none", "host"]),
      );
    case "root":
      return rootOf(of);
    case "object":
      throw new Error("an object can't be written in a file");
  }
}

/**
 * Returns a function that makes schemas by name, in the order of the names. `Fields` has the types that are known of
 * their values. A field that no row has is missing in the result, so it does not compile where `Fields` is wanted.
 * @param complete adds the rule that applies if an option is left out
 */
export function entriesFor<Fields>(
  schemas: OptionSchemas,
  complete: (schema: v.GenericSchema, row: OptionRow) => v.GenericSchema,
) {
  return <Name extends keyof Fields & string>(rows: OptionRows, names: readonly Name[]) => {
    const entries = names.map((name) => {
      const row = rows[name] as OptionRow;
      return [name, complete(schemaOf(row.value, schemas), row)] as const;
    });
    return Object.fromEntries(entries) as { [Each in Name]: SchemaOf<Fields[Each]> };
  };
}
