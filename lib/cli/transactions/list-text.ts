/** The transactions on disk, for people. Pure. */

import pc from "picocolors";

import type { ListedTransaction } from "../../../types/transaction-options.js";
import { visibleLine } from "./visible-text.js";

const kMinute = 60_000;
const kHour = 60 * kMinute;
const kDay = 24 * kHour;

/** How long ago, in the largest whole unit. */
export function age(ms: number): string {
  if (ms < kMinute) return "just now";
  if (ms < kHour) return `${Math.floor(ms / kMinute)} min ago`;
  return ms < kDay ? `${Math.floor(ms / kHour)} h ago` : `${Math.floor(ms / kDay)} d ago`;
}

const kRecovered: Record<NonNullable<ListedTransaction["recovered"]>, string> = {
  "rolled-back": "(a commit is to be rolled back)",
  completed: "(a commit is to be completed)",
  torn: "",
};

/** A line for each, under a heading; ends with a newline. */
export function listText(
  listed: readonly ListedTransaction[],
  now: number,
  useColors: boolean,
): string {
  if (listed.length === 0) return "no transactions\n";
  const colors = pc.createColors(useColors);
  const paint = { open: colors.green, closed: (text: string) => text, torn: colors.red };
  const rows = listed.map(({ id, state, createdAt, workspace, recovered, committed }) => ({
    id,
    state,
    age: age(now - createdAt.getTime()),
    workspace: [
      visibleLine(workspace),
      committed ? "(committed: undo takes it back)" : "",
      recovered ? kRecovered[recovered] : "",
    ]
      .filter((word) => word !== "")
      .join(" "),
  }));
  const width = Math.max("OPENED".length, ...rows.map((row) => row.age.length));
  const heading = `ID            STATE   ${"OPENED".padEnd(width)}  WORKSPACE`;
  const lines = rows.map(
    (row) =>
      `${row.id}  ${paint[row.state](row.state.padEnd(6))}  ${row.age.padEnd(width)}  ${row.workspace}`,
  );
  return `${[colors.bold(heading), ...lines].join("\n")}\n`;
}
