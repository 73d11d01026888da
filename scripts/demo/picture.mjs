// Terminal text with colours as an SVG. Pure. Frames are drawn as lines, since the widths of such
// characters differ between fonts; text is placed by column for the same reason.
const kFont = { size: 14, width: 8.43, height: 19 };
const kPadding = 16;
const kColours = { background: "#16181d", text: "#d7dae0", frame: "#4b5160" };
const kStyles = {
  1: "font-weight:bold",
  2: "fill:#8b919d",
  31: "fill:#ff6b68",
  32: "fill:#5fd38d",
};
const kResets = new Set(["0", "22", "39"]);

/** The arms of each frame character: up, right, down, left. */
const kArms = {
  ...{ "─": "rl", "│": "ud", "┌": "rd", "┐": "dl", "└": "ur", "┘": "ul" },
  ...{ "├": "urd", "┤": "udl", "┬": "rdl", "┴": "url", "┼": "urdl" },
};

const escapeXml = (text) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** A line as pieces of one style: { column, text, style }. */
function piecesOf(line) {
  const pieces = [];
  let style;
  let column = 0;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what terminals are told
  for (const [, codes, text] of line.matchAll(/\u001b\[([\d;]*)m|([^\u001b]+)/g)) {
    if (text !== undefined) {
      pieces.push({ column, text, style });
      column += [...text].length;
    } else if (codes === "" || codes.split(";").some((code) => kResets.has(code))) {
      style = undefined;
    } else {
      style = kStyles[codes];
      if (style === undefined) throw new Error(`no style for the terminal's code ${codes}`);
    }
  }
  return pieces;
}

const number = (value) => String(Math.round(value * 100) / 100);
const xOf = (column) => kPadding + column * kFont.width;

/** The frame characters of a row as lines; neighbours that go on horizontally are one. */
function frameOf(characters, top) {
  const middle = number(top + kFont.height / 2);
  let path = "";
  let start;
  for (let column = 0; column <= characters.length; column += 1) {
    const arms = kArms[characters[column]] ?? "";
    const x = xOf(column + 0.5);
    if (start !== undefined && !arms.includes("l")) {
      path += `M${number(start)} ${middle}H${number(x - kFont.width)}`;
      start = undefined;
    }
    if (start === undefined && arms.includes("r")) start = x;
    if (/[ud]/.test(arms)) {
      const from = top + (arms.includes("u") ? 0 : kFont.height / 2);
      const to = top + (arms.includes("d") ? kFont.height : kFont.height / 2);
      path += `M${number(x)} ${number(from)}V${number(to)}`;
    }
  }
  return path;
}

/** The words of a piece, each at its column; frame characters are left out. */
function textOf({ column, text, style }, baseline) {
  const words = text.matchAll(/[^\s─│┌┐└┘├┤┬┴┼]+(?: [^\s─│┌┐└┘├┤┬┴┼]+)*/gu);
  const attribute = style === undefined ? "" : ` style="${style}"`;
  return [...words].map(
    (word) =>
      `<text x="${number(xOf(column + word.index))}" y="${number(baseline)}"${attribute}>${escapeXml(word[0])}</text>`,
  );
}

/** An SVG of what a terminal shows; `title` is for those who can't see it. */
export function pictureOf(text, title) {
  const lines = text.trimEnd().split("\n").map(piecesOf);
  const plain = lines.map((pieces) => pieces.map((piece) => piece.text).join(""));
  const columns = Math.max(...plain.map((line) => [...line].length));
  const width = Math.ceil(2 * kPadding + columns * kFont.width);
  const height = Math.ceil(2 * kPadding + lines.length * kFont.height);
  const topOf = (row) => kPadding + row * kFont.height;
  const frame = plain.map((line, row) => frameOf([...line], topOf(row))).join("");
  const words = lines.flatMap((pieces, row) =>
    pieces.flatMap((piece) => textOf(piece, topOf(row) + kFont.height * 0.72)),
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${escapeXml(title)}</title>`,
    `<rect width="100%" height="100%" rx="8" fill="${kColours.background}"/>`,
    `<path fill="none" stroke="${kColours.frame}" d="${frame}"/>`,
    `<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="${kFont.size}" fill="${kColours.text}" xml:space="preserve">`,
    ...words,
    "</g>",
    "</svg>",
    "",
  ].join("\n");
}
