// What the plots draw, taken from a report of results.mjs.

import { summaryOf } from "../rows.mjs";
import { kVariants } from "../variants/index.mjs";

/** The measured scenario of that name, or undefined where it was not measured. */
export const scenarioOf = (report, name) =>
  report.scenarios.find(({ scenario, points }) => scenario.name === name && points.length > 0);

const measureOf = ({ scenario }, name) => {
  const found = scenario.measures.find((measure) => measure.name === name);
  if (found === undefined) throw new Error(`${scenario.name} has no measure \`${name}\``);
  return found;
};

/** One series for each variant: `value` of a measure's summary, p10 to p90 as its spread. */
export function seriesOf(measured, measureName, value = "p50") {
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
export function ratesOf(measured, measureName, at, names) {
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
export function rangesOf(measured, measureName) {
  const measure = measureOf(measured, measureName);
  return [...measured.points[0].results]
    .map(([name, bursts]) => ({
      name,
      title: kVariants[name].title,
      ...summaryOf(measure, bursts),
    }))
    .sort((a, b) => a.p50 - b.p50);
}
