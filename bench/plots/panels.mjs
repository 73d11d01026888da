// The panels that plots are made of, with their scales and axes: of lines, and of rows of dots. A scale is
// linear or logarithmic; where its values are few and given (concurrency, sizes), they stand at equal
// distances.

import { scaleLinear, scaleLog, scalePoint } from "d3-scale";

import { figure } from "../report.mjs";
import { labelOf } from "../subjects/scenario.mjs";
import { element, group, line, text } from "./svg.mjs";

const kSteps = [1, 2, 5];

/** A logarithmic scale over all values; ticks at 1, 2, 5, 10 …, or at 1, 10 … where those are many. */
function logScale(values, range) {
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

function linearScale(values, range, count = 5) {
  const scale = scaleLinear([0, Math.max(...values)], range).nice(count);
  return { scale, ticks: scale.ticks(count) };
}

function pointScale(values, range, label) {
  return { scale: scalePoint(values, range).padding(0.15), ticks: values, label };
}

const plain = (value) => value.toLocaleString("en", { maximumSignificantDigits: 2 });

/** Grid lines and numbers on the left. */
function leftAxis({ scale, ticks }, left, right) {
  return ticks.map(
    (tick) =>
      line(left, scale(tick), right, scale(tick), "grid") +
      text(left - 8, scale(tick) + 4, plain(tick), { anchor: "end", class: "tick" }),
  );
}

/** Numbers below, with the axis' name under them; `grid` draws lines up to `top`. */
function bottomAxis(
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

// A panel of lines: one for each series, its points' spread as a thin vertical line.
//
// A series is { name, title, points: [{ x, y, low?, high? }] }; `name` is the variant that gives it
// its colour.

const kLabelHeight = 14;

/** Vertical places for labels: each near its wish, none over another. */
function apart(wishes) {
  const sorted = wishes.map((y, i) => ({ y, i })).sort((a, b) => a.y - b.y);
  for (let k = 1; k < sorted.length; k++) {
    const gap = sorted[k].y - sorted[k - 1].y;
    if (gap >= kLabelHeight) continue;
    sorted[k].y = sorted[k - 1].y + kLabelHeight;
  }
  // What was pushed down is centred again around where it wanted to be.
  const drift = sorted.reduce((sum, { y, i }) => sum + y - wishes[i], 0) / sorted.length;
  const places = [];
  for (const { y, i } of sorted) places[i] = y - drift;
  return places;
}

function drawSeries({ name, points }, x, y) {
  const at = points.map((point) => ({ ...point, x: x(point.x), y: y(point.y) }));
  const path = at.map(
    (point, i) => `${i === 0 ? "M" : "L"}${point.x.toFixed(1)} ${point.y.toFixed(1)}`,
  );
  return group(
    { class: `s-${name}` },
    element("path", { d: path.join("") }),
    at
      .filter(({ low }) => low !== undefined)
      .map((point) => line(point.x, y(point.low), point.x, y(point.high), "spread")),
    at.map((point) => element("circle", { cx: point.x, cy: point.y, r: 3 })),
  );
}

function endLabels(series, x, y) {
  const ends = series.map(({ points }) => points.at(-1));
  const places = apart(ends.map((point) => y(point.y)));
  return series.map(({ name, title }, i) =>
    group({ class: `s-${name}` }, text(x(ends[i].x) + 12, places[i] + 4, title)),
  );
}

/** One panel in the box { left, top, right, bottom } of its plotting area. */
export function linesPanel(box, { title, axis, series, isLog = true, isLabelled = false }) {
  const points = series.flatMap((each) => each.points);
  const values = points.flatMap(({ y, low = y, high = y }) => [y, low, high]);
  const xs = [...new Set(points.map((point) => point.x))].sort((a, b) => a - b);
  const across = pointScale(xs, [box.left, box.right], (at) => labelOf(axis, at));
  const up = (isLog ? logScale : linearScale)(values, [box.bottom, box.top]);
  return [
    text(box.left - 40, box.top - 14, title, { class: "panel" }),
    leftAxis(up, box.left, box.right),
    bottomAxis(across, { ...box, name: axis.name }),
    series.map((each) => drawSeries(each, across.scale, up.scale)),
    isLabelled ? endLabels(series, across.scale, up.scale) : [],
  ].flat();
}

/** A line of keys, for panels whose lines bear no labels. */
export function legend(left, y, series) {
  let x = left;
  return series.map(({ name, title }) => {
    const key = group(
      { class: `s-${name}` },
      element("path", { d: `M${x} ${y}h22` }),
      element("circle", { cx: x + 11, cy: y, r: 3 }),
      text(x + 28, y + 4, title),
    );
    x += 28 + title.length * 6.6 + 22;
    return key;
  });
}

// Rows of one dot each on a logarithmic scale: the median, a bar from there to the 95th percentile
// and a tick at the 99th; where more is better, to the 5th and at the 1st.

const kRowHeight = 27;

export const rangesHeight = (rows) => rows.length * kRowHeight;

/** `rows` are { name, title, p50, p95, p99 }, drawn from the top of the box downwards. */
export function rangesPanel(box, { xName, unit, rows }) {
  const values = rows.flatMap(({ p50, p99 }) => [p50, p99]);
  const across = logScale(values, [box.left, box.right]);
  const { scale } = across;
  return [
    bottomAxis(across, { ...box, name: xName, grid: true }),
    rows.map(({ name, title, p50, p95, p99 }, i) => {
      const end = scale(Math.max(p50, p99));
      const y = box.top + (i + 0.5) * kRowHeight;
      return group(
        { class: `s-${name}` },
        text(box.left - 12, y + 4, title, { anchor: "end" }),
        element("line", { x1: scale(p50), x2: scale(p95), y1: y, y2: y, class: "range" }),
        line(scale(p95), y, scale(p99), y, "tail"),
        line(scale(p99), y - 5, scale(p99), y + 5, "tail"),
        element("circle", { cx: scale(p50), cy: y, r: 5 }),
        text(end + 10, y + 4, `${figure(p50)} ${unit}`, { class: "value" }),
      );
    }),
  ].flat();
}
