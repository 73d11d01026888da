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

// How the plots look: one colour for each variant, light and dark, and a dash where colour alone
// would not tell two lines apart.

const kSeries = {
  ours: ["#0969da", "#58a6ff"],
  cloned: ["#0550ae", "#a5d6ff"],
  prewarmed: ["#1a7f37", "#3fb950"],
  session: ["#8250df", "#bc8cff"],
  landlock: ["#0969da", "#58a6ff", "5 3"],
  landlockSession: ["#8250df", "#bc8cff", "5 3"],
  floor: ["#57606a", "#9198a1", "2 3"],
  bare: ["#57606a", "#9198a1"],
  childProcess: ["#bc4c00", "#f0883e"],
  bareChildProcess: ["#bc4c00", "#f0883e", "5 3"],
  execa: ["#9a6700", "#d29922", "5 3"],
  firejail: ["#cf222e", "#ff7b72"],
  sandboxRuntime: ["#bf3989", "#ff9bce", "5 3"],
  pool2: ["#7aa600", "#a5d63f"],
  pool4: ["#4c8c2b", "#7ccf5a"],
  pool8: ["#1a7f37", "#3fb950"],
  pool16: ["#0b5351", "#39c5cf"],
};

const kRoles = {
  ground: ["#ffffff", "#0d1117"],
  ink: ["#1f2328", "#f0f6fc"],
  faint: ["#59636e", "#9198a1"],
  grid: ["#d1d9e0", "#30363d"],
};

function seriesRules(name, mode) {
  const colour = kSeries[name][mode];
  return [
    `.s-${name} path,.s-${name} line{stroke:${colour}}`,
    `.s-${name} circle,.s-${name} text{fill:${colour}}`,
  ].join("\n");
}

// Not by custom properties: not every renderer of SVG knows them.
function colours(names, mode) {
  const of = (role) => kRoles[role][mode];
  return [
    `text{fill:${of("ink")}}.note,.tick{fill:${of("faint")}}`,
    `.ground{fill:${of("ground")};stroke:${of("grid")}}`,
    `.grid{stroke:${of("grid")}}.axis{stroke:${of("faint")}}`,
    ...names.map((name) => seriesRules(name, mode)),
  ].join("\n");
}

function dashes(names) {
  return names
    .filter((name) => kSeries[name][2] !== undefined)
    .map((name) => `.s-${name} path{stroke-dasharray:${kSeries[name][2]}}`);
}

/** The style sheet for a plot that shows these variants. */
export function styleFor(names) {
  return [
    "",
    "text{font:12px system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif}",
    ".title{font-size:16px;font-weight:600}.panel,.value{font-weight:600}",
    "path{fill:none;stroke-width:2}.spread{stroke-width:1.2;opacity:.7}",
    ".range{stroke-width:5}.tail{stroke-width:2}",
    ...dashes(names),
    colours(names, 0),
    `@media (prefers-color-scheme:dark){\n${colours(names, 1)}\n}`,
    "",
  ].join("\n");
}
