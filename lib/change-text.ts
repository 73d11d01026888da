/** Formats changes of a transaction for people. Pure. */

import pc from "picocolors";

import type { Change } from "../types/transaction.js";
import { notableChanges } from "./notable-changes.js";
import { formatSize, visibleLine, visibleText } from "./text.js";

type Colors = ReturnType<typeof pc.createColors>;

/** A change for display; also one that was reported as a rename. */
type Shown = Change & { from?: string };

const kMostLines = 200;
const kWidestPath = 60;
const kPermissions = 0o7777;

/** In the order in which they are counted. */
const kKinds: readonly (readonly [kind: string, letter: string, color: keyof Colors])[] = [
  ["added", "A", "green"],
  ["modified", "M", "yellow"],
  ["deleted", "D", "red"],
  ["renamed", "R", "cyan"],
];

/** Returns "1 file", "2 files". */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

const permissions = (mode: number) => (mode & kPermissions).toString(8);

function pathOf({ path, from, type, target }: Shown): string {
  const name = visibleLine(type === "directory" ? `${path}/` : path);
  const origin = from === undefined ? "" : `${visibleLine(from)} → `;
  return `${origin}${name}${target === undefined ? "" : ` → ${visibleLine(target)}`}`;
}

function detailOf(change: Shown): string {
  const { kind, type, size, previousSize, mode, previousMode } = change;
  const words: string[] = [];
  if (type === "other") words.push("FIFO, socket or device: never committed");
  if (type === "file") {
    if (kind === "deleted") words.push(formatSize(previousSize));
    else if (kind === "added" || size === previousSize) words.push(formatSize(size));
    else words.push(`${formatSize(previousSize)} → ${formatSize(size)}`);
  }
  const isThere = mode !== 0 && previousMode !== 0;
  if (isThere && permissions(mode) !== permissions(previousMode)) {
    words.push(`mode ${permissions(previousMode)} → ${permissions(mode)}`);
  }
  return words.join(", ");
}

function lineOf(change: Shown, width: number, colors: Colors): string {
  const [, letter, color] = kKinds.find(([kind]) => kind === change.kind) ?? ["", "?", "dim"];
  const paint = colors[color] as (text: string) => string;
  const detail = detailOf(change);
  const path = pathOf(change);
  const conflict = change.conflict ? colors.red("  conflict: the host has changed it too") : "";
  const padded = detail === "" ? path : `${path.padEnd(width)}  ${colors.dim(detail)}`;
  return `  ${paint(letter)} ${padded}${conflict}`;
}

/** Returns "3 changes: 1 added, 2 modified". */
function changeCounts(changes: readonly Change[]): string {
  const kinds = kKinds.flatMap(([kind]) => {
    const count = changes.filter((change) => change.kind === kind).length;
    return count === 0 ? [] : [`${count} ${kind}`];
  });
  const conflicts = changes.filter(({ conflict }) => conflict).length;
  const reported = conflicts === 0 ? "" : `; ${counted(conflicts, "conflict")} with the host`;
  return `${counted(changes.length, "change")}: ${kinds.join(", ")}${reported}`;
}

/** Returns one line per change and a line with counts; "" for no changes. Ends with a newline. */
export function changeSummary(changes: readonly Change[], useColors: boolean): string {
  const colors = pc.createColors(useColors);
  const reported = notableChanges(changes);
  if (reported.length === 0) return "";
  const shown = reported.slice(0, kMostLines);
  const width = Math.min(kWidestPath, Math.max(...shown.map((change) => pathOf(change).length)));
  const lines = shown.map((change) => lineOf(change, width, colors));
  if (reported.length > kMostLines) lines.push(`  … and ${reported.length - kMostLines} more`);
  return `${[...lines, changeCounts(reported)].join("\n")}\n`;
}

function paint(line: string, colors: Colors): string {
  if (/^(?:diff --git |--- (?:"?a\/|\/dev\/null$)|\+\+\+ (?:"?b\/|\/dev\/null$))/.test(line)) {
    return colors.bold(line);
  }
  if (line.startsWith("@@")) return colors.cyan(line);
  if (line.startsWith("+")) return colors.green(line);
  return line.startsWith("-") ? colors.red(line) : line;
}

/** Returns a patch colored for a terminal. */
export function diffText(diff: string, useColors: boolean): string {
  const colors = pc.createColors(useColors);
  const lines = visibleText(diff).split("\n");
  return lines.map((line) => paint(line, colors)).join("\n");
}
