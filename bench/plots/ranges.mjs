// Rows of one dot each on a logarithmic scale: the median, a bar from there to the 95th percentile
// and a tick at the 99th; where more is better, to the 5th and at the 1st.

import { figure } from "../figure.mjs";
import { bottomAxis, logScale } from "./axes.mjs";
import { element, group, line, text } from "./svg.mjs";

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
