// SVG as text. Scales and ticks are d3-scale's; the few elements that a plot is made of are written
// here, since the chart libraries want a DOM or a browser, and bake colours in: these plots get
// theirs from a style sheet that follows the reader's light or dark mode.

const kEntities = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escaped = (text) => String(text).replace(/[&<>"]/g, (character) => kEntities[character]);
const rounded = (value) => (typeof value === "number" ? Number(value.toFixed(1)) : value);

/** One element; its children are elements already. */
export function element(name, attributes, ...children) {
  const written = Object.entries(attributes)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ` ${key}="${escaped(rounded(value))}"`)
    .join("");
  const inside = children.flat().join("");
  return inside === "" ? `<${name}${written}/>` : `<${name}${written}>${inside}</${name}>`;
}

export const group = (attributes, ...children) => element("g", attributes, ...children);

/** `anchor` is start, middle or end. */
export function text(x, y, content, { anchor = "start", class: className } = {}) {
  return element(
    "text",
    { x, y, class: className, "text-anchor": anchor === "start" ? undefined : anchor },
    escaped(content),
  );
}

export const line = (x1, y1, x2, y2, className) =>
  element("line", { x1, y1, x2, y2, class: className });

/** A whole document on an opaque ground of its own, so that it can be read on any page. */
export function svgDocument({ width, height, title, description, style }, ...children) {
  const head = [
    element("title", {}, escaped(title)),
    element("desc", {}, escaped(description)),
    element("style", {}, style),
    element("rect", { class: "ground", width, height, rx: 6 }),
    text(20, 28, title, { class: "title" }),
    text(20, 47, description, { class: "note" }),
  ];
  const attributes = {
    xmlns: "http://www.w3.org/2000/svg",
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: "img",
  };
  return `${element("svg", attributes, "\n", head.join("\n"), "\n", children.flat().join("\n"), "\n")}\n`;
}
