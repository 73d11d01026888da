/** What a command was denied, as a table for people. Pure. */

import Table from "cli-table3";
import pc from "picocolors";

import type { Denial } from "../../../types/public.js";
import { visibleLine } from "../transactions/visible-text.js";

type Colors = ReturnType<typeof pc.createColors>;

/** The second and third column, and what the frame takes of a line. */
const kByWidth = 24;
const kFrame = 2 + 1 + 1; // left and right edge, and the line between
const kNarrowest = 60;
const kWidest = 120;

/** What was wanted: a path, a host with its port, or the operation alone. */
export function wantedOf({ kind, operation, path, host, port }: Denial): string {
  const place = host === undefined ? undefined : port === undefined ? host : `${host} port ${port}`;
  const what = path ?? place;
  return what === undefined ? operation : `${kind} ${what}`;
}

function detailOf({ operation, program, errno, count, path, host }: Denial): string {
  const called = path === undefined && host === undefined ? "" : operation;
  const by = program === undefined ? "" : `by ${program}`;
  const times = count > 1 ? `${count} times` : "";
  return [[called, by].filter(Boolean).join(" "), errno, times].filter(Boolean).join(", ");
}

/** A text in lines of at most so many characters, cut anywhere: paths have no better place. */
function cut(text: string, width: number): string {
  const letters = [...text];
  const lines: string[] = [];
  for (let at = 0; at < letters.length; at += width)
    lines.push(letters.slice(at, at + width).join(""));
  return lines.join("\n");
}

/** The grants that the command line can say, each once, in the order of the denials. */
export function optionsOf(denials: readonly Denial[]): string[] {
  const said = denials.flatMap(({ grant }) =>
    grant === undefined || grant.cli === "" ? [] : grant.cli,
  );
  return [...new Set(said)];
}

/** Those that it can't: for code, and for a configuration file. */
function others(denials: readonly Denial[]): string[] {
  const said = denials.flatMap(({ grant }) =>
    grant === undefined || grant.cli !== ""
      ? []
      : `${grant.option}: ${visibleLine(JSON.stringify(grant.value))}`,
  );
  return [...new Set(said)];
}

function answer({ grant, notAdvised }: Denial, width: number, colors: Colors): string {
  if (grant === undefined)
    return colors.yellow(cut(visibleLine(`no grant: ${notAdvised ?? ""}`), width));
  const { cli, option, value } = grant;
  const text = cli === "" ? `option ${option}: ${JSON.stringify(value)}` : cli;
  return colors.green(cut(visibleLine(text), width));
}

function row(denial: Denial, widths: readonly [number, number], colors: Colors): string[] {
  const [left, right] = widths.map((width) => width - 2) as [number, number]; // padding
  const wanted = cut(visibleLine(wantedOf(denial)), left);
  const detail = cut(visibleLine(detailOf(denial)), left);
  const first = detail === "" ? wanted : `${wanted}\n${colors.dim(detail)}`;
  const by = colors.red(denial.by);
  return [`${first}\n${answer(denial, left, colors)}`, cut(by, Math.max(right, by.length))];
}

/** The table, and under it the grants as options to paste. */
export function whyText(
  denials: readonly Denial[],
  omitted: number,
  useColors: boolean,
  columns = 80,
): string {
  const colors = pc.createColors(useColors);
  if (denials.length === 0) return "nothing was denied";
  const width = Math.min(Math.max(columns, kNarrowest), kWidest) - kFrame + 1;
  const right = Math.min(kByWidth, Math.max(...denials.map(({ by }) => by.length)) + 3);
  const widths = [width - right, Math.max(right, 9)] as const;
  const table = new Table({
    head: ["Denied, and what would allow it", "By"],
    colWidths: [...widths],
    style: { head: [], border: [] },
  });
  table.push(...denials.map((denial) => row(denial, widths, colors)));
  const lines = [table.toString()];
  if (omitted > 0) lines.push(`and ${omitted} more that are not shown`);
  const options = optionsOf(denials);
  if (options.length > 0) {
    lines.push("", colors.bold("With these options it gets further:"));
    lines.push(`  ${options.map(visibleLine).join(" \\\n  ")}`);
  }
  const rest = others(denials);
  if (rest.length > 0) {
    lines.push("", colors.bold("The command line has no option for:"));
    lines.push(...rest.map((text) => `  ${text}`));
  }
  return lines.join("\n");
}
