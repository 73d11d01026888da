// The readable report: one aligned table for each scenario, its work stated above it.

import { kVariants } from "./variants/index.mjs";

const kHeadings = [
  "measure",
  "against",
  "ours p50",
  "p99",
  "its p50",
  "p99",
  "ratio",
  "p10-p90",
  "p99",
  "samples",
  "bar",
  "aim",
  "",
];
const kLeftAligned = new Set([0, 1, 7, 10, 11, 12]);

// Three significant digits, as far as they matter to a reader.
function figure(value) {
  if (value >= 100) return value.toFixed(0);
  if (value >= 10) return value.toFixed(1);
  return value >= 0.095 ? value.toFixed(2) : value.toPrecision(2);
}

function barText(row, field) {
  if (row.bar === undefined) return "";
  const sign = row.bar.atLeast === undefined ? "<=" : ">=";
  const limit = field === "aim" ? row.bar.aim : (row.bar.atLeast ?? row.bar.atMost);
  // `of` marks a bar on our own number rather than on the ratio.
  return `${sign} ${limit}${row.bar.of === undefined ? "x" : ` (${row.bar.of})`}`;
}

// Where the bar is on the worst sample, the tail column shows that one.
const tailOf = (row, summary) => summary[row.bar?.of === "max" ? "max" : row.tail];

function cells(row) {
  return [
    `${row.measure}, ${row.unit}`,
    kVariants[row.against].title,
    figure(row.ours.p50),
    figure(tailOf(row, row.ours)),
    figure(row.other.p50),
    figure(tailOf(row, row.other)),
    figure(row.ratio.p50),
    `${figure(row.ratio.p10OfRounds)}-${figure(row.ratio.p90OfRounds)}`,
    figure(row.ratio.tail),
    String(row.ours.samples),
    barText(row, "bar"),
    barText(row, "aim"),
    row.verdict,
  ];
}

function align(lines) {
  const widths = kHeadings.map((_, i) => Math.max(...lines.map((line) => line[i].length)));
  const pad = (cell, i) =>
    kLeftAligned.has(i) ? cell.padEnd(widths[i]) : cell.padStart(widths[i]);
  return lines.map((line) => `  ${line.map(pad).join("  ").trimEnd()}`).join("\n");
}

export function machineLine(facts) {
  const user = facts.isRoot ? "root" : "an ordinary user";
  return (
    `${facts.cores} cores (${facts.cpu}), ${facts.memoryGiB} GiB, Linux ${facts.kernel}, ` +
    `Node ${facts.node}, ${facts.bwrap}, transparent huge pages: ${facts.transparentHugePages}, ` +
    `as ${user}, ${Math.round(facts.busyBefore * 100)} % busy before the start`
  );
}

export function scenarioReport(scenario, size, rows) {
  const { rounds, runs } = scenario.sizes[size];
  const amount = `${rounds} rounds of ${runs} run${runs === 1 ? "" : "s"} for each variant`;
  const table = align([kHeadings, ...rows.map(cells)]);
  return `${scenario.name}: ${scenario.work}\n  (${amount}, after a warm-up)\n${table}\n`;
}

export const kLegend =
  "ratio: ours / its, of the medians; p10-p90: that ratio over the rounds; the p99 of what is\n" +
  "better when higher is its slowest 1 % (p1), that of a memory row its largest sample.\n" +
  "(b) and (c) give both streams of output back, capped, and keep a deadline; (a) only waits. All\n" +
  "three run bwrap with our options; ours alone adds seccomp, usage and errno.\n";
