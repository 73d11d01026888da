// The rows of a scenario that carry a bar, as one table.

import { figure, spread } from "./figure.mjs";
import { labelOf } from "./points.mjs";
import { kVariants } from "./variants/index.mjs";

function limitText({ bar, against, unit }, value) {
  const sign = bar.atLeast === undefined ? "≤" : "≥";
  return `${sign} ${figure(value)}${against === undefined ? ` ${unit}` : "x"}`;
}

function lineOf(row, where) {
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
    return rows.filter(({ bar }) => bar !== undefined).map((row) => lineOf(row, where));
  });
  return { head: ["bar", "measured", "p10–p90", "bar", "aim", ""], lines };
}
