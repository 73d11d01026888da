/** The chosen files, each in a certain version. Pure; each function returns a new object. */

import type { ChosenFile } from "./api.js";
import type { Hunk, ReviewChange } from "./model.js";

/** The choice in one file: all of it, or some of its hunks. */
export type Choice = {
  version: string;
  hunks?: { all: readonly Hunk[]; taken: ReadonlySet<number> };
};
export type Choices = ReadonlyMap<string, Choice>;

export const canBeChosen = ({ isUnnamed, type, conflict }: ReviewChange) =>
  !isUnnamed && type !== "other" && !conflict;

/** Returns the state of a checkbox. "some": not all files of a directory, or not all hunks of a file. */
export function stateOf(choices: Choices, paths: readonly string[]): "none" | "some" | "all" {
  let chosen = 0;
  for (const path of paths) {
    const choice = choices.get(path);
    if (choice?.hunks) return "some";
    if (choice) chosen += 1;
  }
  if (chosen === 0) return "none";
  return chosen === paths.length ? "all" : "some";
}

/** Chooses all changes, or none if all are chosen. */
export function toggled(choices: Choices, changes: readonly ReviewChange[]): Choices {
  const able = changes.filter(canBeChosen);
  const isAll =
    stateOf(
      choices,
      able.map(({ path }) => path),
    ) === "all";
  const next = new Map(choices);
  for (const { path, version } of able) {
    if (isAll) next.delete(path);
    else next.set(path, { version });
  }
  return next;
}

/** Adds one hunk of a file to the choices, or removes it. */
export function withHunk(
  choices: Choices,
  { path, version }: ReviewChange,
  all: readonly Hunk[],
  at: number,
): Choices {
  const now = choices.get(path);
  const every = all.map((_, index) => index);
  const taken = new Set(now === undefined ? [] : (now.hunks?.taken ?? every));
  if (!taken.delete(at)) taken.add(at);
  const next = new Map(choices);
  if (taken.size === 0) next.delete(path);
  else if (taken.size === all.length) next.set(path, { version });
  else next.set(path, { version, hunks: { all, taken } });
  return next;
}

/** True if a hunk of a file is chosen. */
export function hasHunk(choices: Choices, path: string, at: number): boolean {
  const choice = choices.get(path);
  return choice !== undefined && (choice.hunks === undefined || choice.hunks.taken.has(at));
}

/** Returns the choices whose files are unchanged, and the paths of the dropped ones. */
export function kept(
  choices: Choices,
  changes: readonly ReviewChange[],
): { choices: Choices; dropped: string[] } {
  const now = new Map(changes.map((change) => [change.path, change]));
  const dropped: string[] = [];
  const next = new Map(choices);
  for (const [path, { version }] of choices) {
    const change = now.get(path);
    if (change?.version === version && canBeChosen(change)) continue;
    next.delete(path);
    dropped.push(path);
  }
  return { choices: next, dropped };
}

/** Returns the choices for the server, with the ranges of each file in order. */
export function wishOf(choices: Choices): ChosenFile[] {
  return [...choices].map(([path, { version, hunks }]) => {
    if (hunks === undefined) return { path, version };
    const taken = [...hunks.taken].sort((one, other) => one - other);
    return { path, version, hunks: taken.flatMap((at) => hunks.all[at] ?? []) };
  });
}
