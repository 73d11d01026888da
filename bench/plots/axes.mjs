// Scales and the axes drawn for them. A scale is linear or logarithmic; where its values are few and
// given (concurrency, sizes), they stand at equal distances.

import { scaleLinear, scaleLog, scalePoint } from "d3-scale";

import { element, line, text } from "./svg.mjs";

const kSteps = [1, 2, 5];

/** A logarithmic scale over all values; ticks at 1, 2, 5, 10 …, or at 1, 10 … where those are many. */
export function logScale(values, range) {
  const steps = [];
  for (let power = -3; power < 7; power++)
    steps.push(...kSteps.map((step) => Number(`${step}e${power}`)));
  const low = steps.findLast((step) => step <= Math.min(...values)) ?? steps[0];
  const high = steps.find((step) => step >= Math.max(...values)) ?? steps.at(-1);
  const between = (from) => steps.filter((step) => step >= from && step <= high);
  if (between(low).length <= 9) return { scale: scaleLog([low, high], range), ticks: between(low) };
  const decade = 10 ** Math.floor(Math.log10(low));
  const isDecade = (step) => Number.isInteger(Number(Math.log10(step).toFixed(6)));
  return { scale: scaleLog([decade, high], range), ticks: between(decade).filter(isDecade) };
}

export function linearScale(values, range, count = 5) {
  const scale = scaleLinear([0, Math.max(...values)], range).nice(count);
  return { scale, ticks: scale.ticks(count) };
}

export function pointScale(values, range, label) {
  return { scale: scalePoint(values, range).padding(0.15), ticks: values, label };
}

const plain = (value) => value.toLocaleString("en", { maximumSignificantDigits: 2 });

/** Grid lines and numbers on the left. */
export function leftAxis({ scale, ticks }, left, right) {
  return ticks.map(
    (tick) =>
      line(left, scale(tick), right, scale(tick), "grid") +
      text(left - 8, scale(tick) + 4, plain(tick), { anchor: "end", class: "tick" }),
  );
}

/** Numbers below, with the axis' name under them; `grid` draws lines up to `top`. */
export function bottomAxis(
  { scale, ticks, label = plain },
  { left, right, bottom, top, name, grid = false },
) {
  return [
    grid ? ticks.map((tick) => line(scale(tick), top, scale(tick), bottom, "grid")) : [],
    element("line", { x1: left, x2: right, y1: bottom, y2: bottom, class: "axis" }),
    ticks.map((tick) =>
      text(scale(tick), bottom + 18, label(tick), { anchor: "middle", class: "tick" }),
    ),
    text((left + right) / 2, bottom + 36, name, { anchor: "middle", class: "note" }),
  ].flat();
}
