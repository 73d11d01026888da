/** Merges three texts by their lines, as git does. Pure. */

import { diff3Merge } from "node-diff3";

import type { MergeAnswer, MergeAsked } from "../merge-thread.js";

// One character for each byte: what is no UTF-8 stays as it is.
const linesOf = (bytes: Uint8Array): string[] =>
  Buffer.from(bytes)
    .toString("latin1")
    .match(/[^\n]*\n|[^\n]+$/g) ?? [];

const ended = (lines: readonly string[], end: string): string => {
  const text = lines.join("");
  return text === "" || text.endsWith("\n") ? text : text + end;
};

/** Returns the lines of one conflict as the caller wants them. */
function decided(
  { prefers, name }: Pick<MergeAsked, "prefers" | "name">,
  ours: readonly string[],
  theirs: readonly string[],
): string {
  if (prefers === "ours") return ours.join("");
  if (prefers === "theirs") return theirs.join("");
  const whole = [...ours, ...theirs].filter((line) => line.endsWith("\n"));
  const isWindows = whole.length > 0 && whole.every((line) => line.endsWith("\r\n"));
  const end = isWindows ? "\r\n" : "\n";
  return `<<<<<<< ours${end}${ended(ours, end)}=======${end}${ended(theirs, end)}>>>>>>> ${name}${end}`;
}

/** Merges them. */
export function mergedLines({ base, ours, theirs, prefers, name }: MergeAsked): MergeAnswer {
  const parts = diff3Merge(linesOf(ours), linesOf(base), linesOf(theirs), {
    excludeFalseConflicts: true,
  });
  let text = "";
  let line = 1;
  let conflictAt = 0;
  for (const { ok, conflict } of parts) {
    if (ok) {
      text += ok.join("");
      line += ok.length;
    }
    if (conflict) {
      if (conflictAt === 0) conflictAt = line;
      text += decided({ prefers, name }, conflict.a, conflict.b);
      line += conflict.a.length;
    }
  }
  return { merged: Buffer.from(text, "latin1"), conflictAt };
}
