// A panel of lines: one for each series, its points' spread as a thin vertical line.
//
// A series is { name, title, points: [{ x, y, low?, high? }] }; `name` is the variant that gives it
// its colour.

import { labelOf } from "../points.mjs";
import { bottomAxis, leftAxis, linearScale, logScale, pointScale } from "./axes.mjs";
import { element, group, line, text } from "./svg.mjs";

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
