/** Objects for the check of a configuration. */

import * as v from "valibot";

/** strictObject takes an array for an object, so this looks first. */
export const record = v.custom<Record<string, unknown>>(
  (value) => typeof value === "object" && value !== null && !Array.isArray(value),
  "an object",
);

/** Without a prototype: the checker goes through inherited names too, and somebody may have added one. */
export function bare<Entries extends object>(entries: Entries): Entries {
  return Object.assign(Object.create(null), entries);
}
