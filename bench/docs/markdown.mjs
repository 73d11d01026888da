// Markdown for the tables of tables.mjs, and the marked blocks that they are put in.

const cell = (text) => String(text).replaceAll("|", "\\|");
const row = (cells) => `| ${cells.map(cell).join(" | ")} |`;

/** The first column is text, the others are numbers, but for those in `words`. */
export function markdownTable({ head, lines }, words = []) {
  const rule = head.map((_, i) => (i === 0 || words.includes(i) ? "---" : "--:"));
  return [row(head), row(rule), ...lines.map(row)].join("\n");
}

const begin = (name) => `<!-- bench:${name} -->`;
const kEnd = "<!-- /bench -->";

/** The names of a document's blocks, in order. */
export function blockNames(document) {
  return [...document.matchAll(/<!-- bench:([a-z-]+) -->/g)].map(([, name]) => name);
}

/** The document with the block's content replaced. */
export function withBlock(document, name, content) {
  const from = document.indexOf(begin(name));
  const to = document.indexOf(kEnd, from);
  if (from < 0 || to < 0) throw new Error(`the document has no block ${begin(name)} … ${kEnd}`);
  const before = document.slice(0, from + begin(name).length);
  return `${before}\n\n${content.trim()}\n\n${document.slice(to)}`;
}
