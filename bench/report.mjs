// The readable report: aligned tables for each scenario, its work stated above them.

import { barTable } from "./bars.mjs";
import { scenarioTables } from "./tables.mjs";

function align({ head, lines }) {
  const all = [head, ...lines];
  const widths = head.map((_, i) => Math.max(...all.map((line) => line[i].length)));
  const pad = (cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]));
  return all.map((line) => `  ${line.map(pad).join("  ").trimEnd()}\n`).join("");
}

export function machineLine(facts) {
  const user = facts.isRoot ? "root" : "an ordinary user";
  return (
    `${facts.cores} cores (${facts.cpu}), ${facts.memoryGiB} GiB, Linux ${facts.kernel}, ` +
    `Node ${facts.node}, ${facts.bwrap}, transparent huge pages: ${facts.transparentHugePages}, ` +
    `as ${user}, ${Math.round(facts.busyBefore * 100)} % busy before the start`
  );
}

const titled = (table) => `\n  ${table.title}\n${align(table)}`;

export function scenarioReport(scenario, { size, points }) {
  const { rounds, runs } = scenario.sizes[size];
  const amount = `${rounds} rounds of ${runs} run${runs === 1 ? "" : "s"} for each variant`;
  const kept = scenario.axis === undefined ? amount : `${amount}, unless a point says otherwise`;
  const tables = scenarioTables(scenario, points).map(titled).join("");
  const bars = barTable(scenario, points);
  const verdicts = bars.lines.length === 0 ? "" : `\n${align(bars)}`;
  return `${scenario.name}: ${scenario.work}\n  (${kept}, after a warm-up)\n${tables}${verdicts}`;
}

export const kLegend =
  "ratios are of the medians; p10–p90 is how that ratio spreads over the rounds. Where more is\n" +
  "better, the tails are p5 and p1. All JavaScript variants give both streams of output back,\n" +
  "capped, and keep a deadline; the C program only waits. `same bwrap`: our sandbox's own options,\n" +
  "to which ours adds seccomp, usage, errno and the proved end.\n";
