/** Merges three texts by their lines, as git does. Pure. */

import { diff3Merge } from "node-diff3";

/** Three contents, each a text in any coding without NUL, and what a conflict becomes. */
export type MergeAsked = {
  base: Uint8Array;
  ours: Uint8Array;
  theirs: Uint8Array;
  /** Which side's lines are taken where they conflict; "markers": both, between marks. */
  prefers: "ours" | "theirs" | "markers";
  /** The name of the other side, for the marks. */
  name: string;
};

/** The result, and the first line of ours, from 1, at which both sides conflict; 0: nowhere. */
export type MergeAnswer = { merged: Uint8Array; conflictAt: number };

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
  const isWindows = [...ours, ...theirs].every(
    (line) => !line.endsWith("\n") || line.endsWith("\r\n"),
  );
  const end = isWindows && (ours.length > 0 || theirs.length > 0) ? "\r\n" : "\n";
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
