/** Changes as they are told. */

import * as v from "valibot";

import type { Change } from "../../../types/transaction.js";
import { changeSummary } from "../../cli/transactions/change-text.js";

const kMostTold = 1000;

export const kChange = v.strictObject({
  path: v.string(),
  kind: v.picklist(["added", "modified", "deleted", "renamed"]),
  type: v.picklist(["file", "directory", "symlink", "other"]),
  size: v.number(),
  from: v.optional(v.string()),
  conflict: v.optional(v.boolean()),
});

/** For programs: the first of them. */
export function toldChanges(changes: readonly Change[]): v.InferOutput<typeof kChange>[] {
  return changes.slice(0, kMostTold).map(({ path, kind, type, size, from, conflict }) => ({
    path,
    kind,
    type,
    size,
    ...(from !== undefined && { from }),
    ...(conflict && { conflict }),
  }));
}

/** For people and models. */
export const changeWords = (changes: readonly Change[]): string =>
  changeSummary(changes, false).trimEnd();
