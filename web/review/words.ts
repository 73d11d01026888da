/** Texts of the page. Pure. */

import { visibleLine } from "../../lib/text.js";
import type { ReviewChange, ReviewRun } from "./model.js";

const kLetters = { added: "A", modified: "M", deleted: "D", renamed: "R" } as const;
const kPermissions = 0o7777;

export const letterOf = ({ kind }: ReviewChange) => kLetters[kind];

/** Returns a name in a form that is safe to show: control characters are visible, and so are spaces at its ends. */
export function shown(name: string): string {
  const visible = visibleLine(name);
  return /^\s|\s$/.test(visible) ? `"${visible}"` : visible;
}

export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? noun : plural}`;
}

export function sizeWords(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return unit === 0 ? `${bytes} B` : `${value.toFixed(value < 10 ? 1 : 0)} ${units[unit]}`;
}

export function durationWords(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

/** Returns descriptions of a change, besides its name. */
export function detailWords(change: ReviewChange): string[] {
  const { type, kind, size, previousSize, mode, previousMode, from, target } = change;
  const words: string[] = [];
  if (from !== undefined) words.push(`from ${shown(from)}`);
  if (target !== undefined) words.push(`links to ${shown(target)}`);
  if (type === "other") words.push("a FIFO, socket or device: never committed");
  if (type === "file") {
    if (kind === "deleted") words.push(sizeWords(previousSize));
    else if (kind === "added" || size === previousSize) words.push(sizeWords(size));
    else words.push(`${sizeWords(previousSize)} → ${sizeWords(size)}`);
  }
  const permissions = (bits: number) => (bits & kPermissions).toString(8).padStart(3, "0");
  if (mode !== 0 && previousMode !== 0 && permissions(mode) !== permissions(previousMode)) {
    words.push(`mode ${permissions(previousMode)} → ${permissions(mode)}`);
  } else if (kind === "added" && type === "file" && (mode & 0o111) !== 0) {
    words.push("executable");
  }
  return words;
}

/** Returns a command as one line, quoted for a shell where necessary. */
export function commandWords(command: readonly string[]): string {
  const words = command.map((word) =>
    /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`,
  );
  return shown(words.join(" "));
}

export function outcomeWords({ outcome, exitCode, signal }: ReviewRun): string {
  if (outcome === "exited") return exitCode === 0 ? "succeeded" : `exited with ${exitCode}`;
  return signal === null ? outcome : `${outcome}, ${signal}`;
}
