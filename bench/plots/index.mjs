// The plots in docs/benchmarks. Each is { file, draw(report) }; `draw` gives the SVG, or undefined
// where the report lacks what it shows.

import { summaryOf } from "../statistics.mjs";
import { kVariants } from "../subjects/index.mjs";
import { legend, linesPanel, rangesHeight, rangesPanel } from "./panels.mjs";
import { styleFor, svgDocument } from "./svg.mjs";

// What the plots draw, taken from a report.

/** The measured scenario of that name, or undefined where it was not measured. */
const scenarioOf = (report, name) =>
  report.scenarios.find(({ scenario, points }) => scenario.name === name && points.length > 0);

const measureOf = ({ scenario }, name) => {
  const found = scenario.measures.find((measure) => measure.name === name);
  if (found === undefined) throw new Error(`${scenario.name} has no measure \`${name}\``);
  return found;
};

/** One series for each variant: `value` of a measure's summary, p10 to p90 as its spread. */
function seriesOf(measured, measureName, value = "p50") {
  const measure = measureOf(measured, measureName);
  const names = [...measured.points[0].results.keys()];
  return names.map((name) => ({
    name,
    title: kVariants[name].title,
    points: measured.points.map(({ at, results }) => {
      const summary = summaryOf(measure, results.get(name));
      const isSpread = value === "p50" && measure.tailSample === undefined;
      const spread = isSpread ? { low: summary.p10, high: summary.p90 } : {};
      return { x: at, y: summary[value], ...spread };
    }),
  }));
}

/**
 * One row for each of `names` that was measured at one value of a scenario's axis, the most first, of a
 * measure whose higher values are the better: its tails are the low ones.
 */
function ratesOf(measured, measureName, at, names) {
  const measure = measureOf(measured, measureName);
  const point = measured.points.find((each) => each.at === at);
  return names
    .filter((name) => point?.results.has(name))
    .map((name) => {
      const { p50, p5, p1 } = summaryOf(measure, point.results.get(name));
      return { name, title: kVariants[name].title, p50, p95: p5, p99: p1 };
    })
    .sort((a, b) => b.p50 - a.p50);
}

/** One row for each variant of a scenario without an axis, the quickest first. */
function rangesOf(measured, measureName) {
  const measure = measureOf(measured, measureName);
  return [...measured.points[0].results]
    .map(([name, bursts]) => ({
      name,
      title: kVariants[name].title,
      ...summaryOf(measure, bursts),
    }))
    .sort((a, b) => a.p50 - b.p50);
}

const kWidth = 860;
const kTop = 96;
const kPanelHeight = 230;

/** Rows under a title, each with its name on the left. */
function rowsPlot(head, panel) {
  const bottom = 66 + rangesHeight(panel.rows);
  const style = styleFor(panel.rows.map(({ name }) => name));
  const box = { left: 210, right: kWidth - 100, top: 66, bottom };
  return svgDocument(
    { ...head, width: kWidth, height: bottom + 52, style },
    rangesPanel(box, panel),
  );
}

function latency(report) {
  const measured = scenarioOf(report, "one-run");
  if (measured === undefined) return undefined;
  const head = {
    title: "Latency by tool",
    description: "/bin/true, one at a time. Dot: median; bar: to p95; tick: p99. Logarithmic.",
  };
  return rowsPlot(head, { xName: "ms", unit: "ms", rows: rangesOf(measured, "one run") });
}

// Each run of these has a sandbox that no run had before.
const kFresh = [
  ...["cloned", "ours", "prewarmed", "floor"],
  ...["childProcess", "execa", "firejail", "sandboxRuntime"],
];
const kFreshAt = 8;

function freshSandboxes(report) {
  const measured = scenarioOf(report, "concurrency");
  if (measured === undefined) return undefined;
  const rows = ratesOf(measured, "throughput", kFreshAt, kFresh);
  if (rows.length === 0) return undefined;
  const head = {
    title: "Fresh sandboxes a second by tool",
    description: `/bin/true, ${kFreshAt} at once. Dot: median of rounds; bar: to p5; tick: p1. Logarithmic.`,
  };
  return rowsPlot(head, { xName: "runs per second", unit: "/s", rows });
}

/** One panel whose lines bear their names at the end. */
function labelled(head, { scenario }, panel, series) {
  const height = 360;
  const box = { left: 64, right: kWidth - 190, top: kTop, bottom: kTop + height };
  const style = styleFor(series.map(({ name }) => name));
  return svgDocument(
    { ...head, width: kWidth, height: box.bottom + 52, style },
    linesPanel(box, { ...panel, axis: scenario.axis, series, isLabelled: true }),
  );
}

/** Panels side by side under one legend. */
function sideBySide(head, { scenario: { axis } }, panels) {
  const { series } = panels[0];
  const width = kWidth / panels.length;
  const bottom = kTop + 30 + kPanelHeight;
  const boxAt = (i) => ({
    left: i * width + 66,
    right: (i + 1) * width - 16,
    top: kTop + 30,
    bottom,
  });
  return svgDocument(
    { ...head, width: kWidth, height: bottom + 52, style: styleFor(series.map((s) => s.name)) },
    legend(26, 74, series),
    panels.map((panel, i) => linesPanel(boxAt(i), { ...panel, axis })),
  );
}

function concurrency(report) {
  const measured = scenarioOf(report, "concurrency");
  if (measured === undefined) return undefined;
  const head = {
    title: "Throughput by concurrency",
    description:
      "/bin/true, nothing waited for in between. Medians of rounds, p10–p90. Logarithmic.",
  };
  const panel = { title: "runs per second" };
  return labelled(head, measured, panel, seriesOf(measured, "throughput"));
}

function hostMemory(report) {
  const measured = scenarioOf(report, "large-host");
  if (measured === undefined) return undefined;
  const head = {
    title: "Loop delay and throughput by host memory",
    description: "/bin/true, 8 in flight, in a host that holds touched Buffers. Logarithmic.",
  };
  return sideBySide(head, measured, [
    { title: "event loop delay p99, ms", series: seriesOf(measured, "loop delay", "p99") },
    { title: "runs per second", series: seriesOf(measured, "throughput") },
  ]);
}

function outputSize(report) {
  const measured = scenarioOf(report, "kept-output");
  if (measured === undefined) return undefined;
  const head = {
    title: "Cost by output size",
    description: "head -c from /dev/zero, all of it kept. Medians, p10–p90. Logarithmic.",
  };
  return sideBySide(head, measured, [
    { title: "wall, ms", series: seriesOf(measured, "wall") },
    { title: "host CPU, ms", series: seriesOf(measured, "host CPU per run") },
    { title: "peak RSS growth, MiB", series: seriesOf(measured, "peak RSS growth") },
  ]);
}

function poolSize(report) {
  const measured = scenarioOf(report, "pool-size");
  if (measured === undefined || measured.points[0].results.size < 2) return undefined;
  const head = {
    title: "Pool size against burst size",
    description:
      "A burst of /bin/true at the same moment, to the end of the last one; the pool stands full.",
  };
  const panel = { title: "ms for the whole burst" };
  return labelled(head, measured, panel, seriesOf(measured, "wall"));
}

export const kPlots = [
  { file: "latency.svg", draw: latency },
  { file: "fresh-sandboxes.svg", draw: freshSandboxes },
  { file: "concurrency.svg", draw: concurrency },
  { file: "host-memory.svg", draw: hostMemory },
  { file: "output-size.svg", draw: outputSize },
  { file: "pool-size.svg", draw: poolSize },
];
