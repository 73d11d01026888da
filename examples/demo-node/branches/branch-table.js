import { stripVTControlCharacters } from "node:util";
import pc from "picocolors";

import { plainLine } from "../terminal/plain-text.js";

/** @typedef {import("./branches.js").Branch} Branch */

const kHeads = ["branch", "tests", "files", "lines", "time", "tokens"];

/** @param {Branch} branch */
function testsOf({ tests, failure }) {
  if (failure !== undefined) return pc.red("not done");
  if (tests === undefined) return "none";
  return tests.isPassed ? pc.green("pass") : pc.red("fail");
}

/** @param {Branch} branch */
function cellsOf(branch) {
  const { number, files, lines, durationMs, tokens } = branch;
  return [
    String(number),
    testsOf(branch),
    String(files),
    lines === undefined ? "?" : `${pc.green(`+${lines.added}`)} ${pc.red(`-${lines.removed}`)}`,
    `${(durationMs / 1000).toFixed(1)} s`,
    tokens === undefined ? "?" : tokens.toLocaleString("en-US"),
  ];
}

const widthOf = (/** @type {string} */ cell) => stripVTControlCharacters(cell).length;

/**
 * One line for each branch, and below why one was not done or its tests have failed.
 * @param {readonly Branch[]} branches
 */
export function branchTable(branches) {
  const rows = [kHeads, ...branches.map(cellsOf)];
  const widths = kHeads.map((_, at) => Math.max(...rows.map((row) => widthOf(row[at] ?? ""))));
  const lineOf = (/** @type {readonly string[]} */ cells) =>
    cells
      .map((cell, at) => cell + " ".repeat((widths[at] ?? 0) - widthOf(cell)))
      .join("  ")
      .trimEnd();
  const reasons = branches.flatMap(({ number, failure, tests }) => {
    const why = failure ?? (tests?.isPassed === false ? `tests: ${tests.how}` : undefined);
    return why === undefined ? [] : [pc.dim(`  ${number}: ${plainLine(why)}\n`)];
  });
  return `${rows.map((row) => `${lineOf(row)}\n`).join("")}${reasons.join("")}`;
}
