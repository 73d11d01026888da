/** Records for people. Pure. */

import Table from "cli-table3";
import pc from "picocolors";

import type { AuditEntry } from "../../../types/audit-log.js";
import { visibleLine } from "../transactions/visible-text.js";
import { endText, entryText } from "./entry-text.js";

const kNarrowest = 60;
const kWidest = 160;
const kOfOthers = [8, 22, 13, 13] as const; // number, time, kind, end
const kLines = 5; // columns have six edges

const isBad = (entry: AuditEntry) =>
  (entry.kind === "run" && (entry.event.outcome !== "exited" || entry.event.exitCode !== 0)) ||
  (entry.kind === "transaction" && entry.event.outcome !== "done") ||
  entry.kind === "gap" ||
  entry.kind === "recovered";

const time = (at: string) => at.replace("T", " ").replace(/\.\d+Z$/, "Z");

function cut(text: string, width: number): string {
  const letters = [...text];
  return letters.length <= width ? text : `${letters.slice(0, width - 1).join("")}…`;
}

/** A table of them, or that there are none; ends with a newline. */
export function showText(
  entries: readonly AuditEntry[],
  omitted: number,
  useColors: boolean,
  columns = 100,
): string {
  if (entries.length === 0) return "no records\n";
  const colors = pc.createColors(useColors);
  const width = Math.min(Math.max(columns, kNarrowest), kWidest);
  const [number, at, kind, end] = kOfOthers;
  const what = width - number - at - kind - end - kLines - 1;
  const table = new Table({
    head: ["No.", "Time", "Kind", "What", "End"].map((text) => colors.bold(text)),
    colWidths: [number, at, kind, Math.max(what, 12), end],
    style: { head: [], border: [] },
    chars: { mid: "", "left-mid": "", "mid-mid": "", "right-mid": "" }, // a line for each, and no more
  });
  for (const entry of entries) {
    const told = cut(visibleLine(entryText(entry)), Math.max(what, 12) - 2);
    const ended = cut(visibleLine(endText(entry)), end - 2);
    const paint = isBad(entry) ? colors.red : (text: string) => text;
    table.push([String(entry.seq), time(entry.at), entry.kind, told, paint(ended)]);
  }
  const before = omitted > 0 ? `${omitted} earlier ones are not shown: see --limit\n` : "";
  return `${before}${table.toString()}\n`;
}
