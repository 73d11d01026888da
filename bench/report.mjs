// A report: the file of all its bursts, and each measured scenario as tables { title, head, lines } of
// plain text cells, whose first column names the variant. The terminal and the documentation show the
// same tables.

import { readFile, writeFile } from "node:fs/promises";

import { pointRows, ratioOf, summaryOf } from "./statistics.mjs";
import { kScenarios, kVariants } from "./subjects/index.mjs";
import { hostMemory, labelOf, loopDelay, pointsOf } from "./subjects/scenario.mjs";

// The file of results: all bursts, so that tables and plots can be made of it later.

const plainPoint = ({ at, results, rows }) => ({ at, rows, bursts: Object.fromEntries(results) });

export async function writeResults(file, { scenarios, ...report }) {
  const plain = scenarios.map(({ scenario: { name, work }, points }) => ({
    name,
    work,
    points: points.map(plainPoint),
  }));
  await writeFile(file, `${JSON.stringify({ ...report, scenarios: plain }, null, 1)}\n`);
}

/** The report as it was measured; its rows are made anew of the bursts and the present bars. */
export async function readResults(file) {
  const report = JSON.parse(await readFile(file, "utf8"));
  const scenarios = report.scenarios.map(({ name, points }) => {
    const scenario = kScenarios.find((each) => each.name === name);
    if (scenario === undefined) throw new Error(`${file} has a scenario \`${name}\`, unknown here`);
    const present = pointsOf(scenario, report.size);
    return {
      scenario,
      points: points.map(({ at, bursts }) => {
        const results = new Map(Object.entries(bursts));
        const point = present.find((each) => each.at === at) ?? present[0];
        return { at, results, rows: pointRows(point.scenario, results) };
      }),
    };
  });
  return { ...report, scenarios };
}

// Numbers as a reader wants them: three significant digits, as far as they matter.

export function figure(value) {
  if (value === undefined) return "";
  if (value >= 100) return value.toFixed(0);
  if (value >= 10) return value.toFixed(1);
  return value >= 0.095 || value === 0 ? value.toFixed(2) : value.toPrecision(2);
}

const spread = (low, high) => `${figure(low)}–${figure(high)}`;

/** A scenario's measures, each name once: several may differ in their bars alone. */
function measuresOf(scenario) {
  return [...new Map(scenario.measures.map((measure) => [measure.name, measure])).values()];
}

const hasMeasure = (measure, results) =>
  [...results.values()].some((bursts) => summaryOf(measure, bursts) !== undefined);

function lineOf(measure, name, bursts, first) {
  const summary = summaryOf(measure, bursts);
  if (summary === undefined) return undefined;
  const tails = measure.higherIsBetter ? ["p5", "p1"] : ["p95", "p99"];
  const ratio = bursts === first ? undefined : ratioOf(measure, bursts, first);
  return [
    kVariants[name].title,
    figure(summary.p50),
    ...tails.map((tail) => figure(summary[tail])),
    ratio === undefined ? "" : `${figure(ratio.p50)}x`,
    ratio === undefined ? "" : spread(ratio.p10OfRounds, ratio.p90OfRounds),
    String(summary.samples),
  ];
}

const kOfTheHost = new Set([hostMemory.name, loopDelay.name]);

/** One table for each measure: the variants' percentiles, and each one against the first. */
function pointTables(results, measures) {
  const [firstName, first] = results.entries().next().value;
  return measures
    .filter((measure) => hasMeasure(measure, results))
    .map((measure) => ({
      title: `${measure.name}, ${measure.unit}`,
      head: [
        ...["", "p50", ...(measure.higherIsBetter ? ["p5", "p1"] : ["p95", "p99"])],
        ...[`against ${kVariants[firstName].title}`, "p10–p90", "samples"],
      ],
      lines: [...results]
        .map(([name, bursts]) => lineOf(measure, name, bursts, first))
        .filter((line) => line !== undefined),
    }));
}

function cellOf(measure, bursts, isBrief) {
  const summary = summaryOf(measure, bursts);
  if (summary === undefined) return "";
  if (measure.tailSample !== undefined) return `${figure(summary.p50)} / ${figure(summary.p99)}`;
  if (isBrief) return figure(summary.p50);
  return `${figure(summary.p50)} (${spread(summary.p10, summary.p90)})`;
}

/** One table for each measure: the variants down, the axis' values across. */
function axisTables(scenario, points, isBrief) {
  const names = [...points[0].results.keys()];
  const median = isBrief ? "p50" : "p50 (p10–p90)";
  const numbers = (measure) => (measure.tailSample === undefined ? median : "p50 / p99");
  return measuresOf(scenario)
    .filter((measure) => hasMeasure(measure, points[0].results))
    .map((measure) => ({
      title: `${measure.name}, ${measure.unit}: ${numbers(measure)} by ${scenario.axis.name}`,
      head: ["", ...points.map(({ at }) => labelOf(scenario.axis, at))],
      lines: names.map((name) => [
        kVariants[name].title,
        ...points.map(({ results }) => cellOf(measure, results.get(name), isBrief)),
      ]),
    }));
}

/**
 * A scenario's tables. Brief ones leave out the spread of medians along an axis. Without an axis they
 * leave out memory and loop delay of the host, unless the scenario measures that first of all.
 */
export function scenarioTables(scenario, points, { isBrief = false } = {}) {
  if (scenario.axis !== undefined) return axisTables(scenario, points, isBrief);
  const measures = measuresOf(scenario).filter(
    ({ name }, index) => !isBrief || index === 0 || !kOfTheHost.has(name),
  );
  return pointTables(points[0].results, measures);
}

// The rows of a scenario that carry a bar, as one table.

function limitText({ bar, against, unit }, value) {
  const sign = bar.atLeast === undefined ? "≤" : "≥";
  return `${sign} ${figure(value)}${against === undefined ? ` ${unit}` : "x"}`;
}

function barLineOf(row, where) {
  const { bar, ratio, own, against } = row;
  const subject = kVariants[row.of].title;
  const names = against === undefined ? subject : `${subject} / ${kVariants[against].title}`;
  const of = bar.of === undefined ? "p50" : bar.of;
  return [
    `${row.measure}${where}, ${of}: ${names}`,
    ratio === undefined ? `${figure(own[bar.of])} ${row.unit}` : `${figure(ratio.p50)}x`,
    ratio === undefined ? "" : spread(ratio.p10OfRounds, ratio.p90OfRounds),
    limitText(row, bar.atLeast ?? bar.atMost),
    limitText(row, bar.aim),
    row.verdict,
  ];
}

/** { head, lines } of all bars of a scenario; no lines where it has none. */
export function barTable({ axis }, points) {
  const lines = points.flatMap(({ at, rows }) => {
    const where = axis === undefined ? "" : ` at ${labelOf(axis, at)} ${axis.name}`;
    return rows.filter(({ bar }) => bar !== undefined).map((row) => barLineOf(row, where));
  });
  return { head: ["bar", "measured", "p10–p90", "bar", "aim", ""], lines };
}

const cell = (text) => String(text).replaceAll("|", "\\|");
const row = (cells) => `| ${cells.map(cell).join(" | ")} |`;

/** The first column is text, the others are numbers, but for those in `words`. */
export function markdownTable({ head, lines }, words = []) {
  const rule = head.map((_, i) => (i === 0 || words.includes(i) ? "---" : "--:"));
  return [row(head), row(rule), ...lines.map(row)].join("\n");
}

// The readable report: aligned tables for each scenario, its work stated above them.

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
