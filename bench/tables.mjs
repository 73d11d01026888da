// A measured scenario as tables { title, head, lines } of plain text cells, for the terminal and for
// the documentation alike. The first column names the variant.

import { figure, spread } from "./figure.mjs";
import { labelOf } from "./points.mjs";
import { ratioOf, summaryOf } from "./rows.mjs";
import { kVariants } from "./variants/index.mjs";

/** A scenario's measures, each name once: several may differ in their bars alone. */
export function measuresOf(scenario) {
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

/** One table for each measure: the variants' percentiles, and each one against the first. */
export function pointTables(scenario, results) {
  const [firstName, first] = results.entries().next().value;
  return measuresOf(scenario)
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

function cellOf(measure, bursts) {
  const summary = summaryOf(measure, bursts);
  if (summary === undefined) return "";
  if (measure.tailSample !== undefined) return `${figure(summary.p50)} / ${figure(summary.p99)}`;
  return `${figure(summary.p50)} (${spread(summary.p10, summary.p90)})`;
}

/** One table for each measure: the variants down, the axis' values across. */
export function axisTables(scenario, points) {
  const names = [...points[0].results.keys()];
  const numbers = (measure) => (measure.tailSample === undefined ? "p50 (p10–p90)" : "p50 / p99");
  return measuresOf(scenario)
    .filter((measure) => hasMeasure(measure, points[0].results))
    .map((measure) => ({
      title: `${measure.name}, ${measure.unit}: ${numbers(measure)} by ${scenario.axis.name}`,
      head: ["", ...points.map(({ at }) => labelOf(scenario.axis, at))],
      lines: names.map((name) => [
        kVariants[name].title,
        ...points.map(({ results }) => cellOf(measure, results.get(name))),
      ]),
    }));
}

export function scenarioTables(scenario, points) {
  if (scenario.axis === undefined) return pointTables(scenario, points[0].results);
  return axisTables(scenario, points);
}
