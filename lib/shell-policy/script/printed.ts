/** The text that `echo` and `printf` print, if their words are known. */

import type { Value } from "./expansion.js";

/** Longer output is not determined. */
const kMostText = 4096;

const kEscapes: Readonly<Record<string, string>> = {
  a: "\u0007",
  b: "\b",
  e: "\u001b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "\\": "\\",
  '"': '"',
  "'": "'",
};
const kEscape =
  /\\(?:x([\dA-Fa-f]{1,2})|u([\dA-Fa-f]{1,4})|U([\dA-Fa-f]{1,8})|0?([0-7]{1,3})|([abefnrtv\\"']))/g;

function unescaped(text: string): string {
  return text.replace(kEscape, (_, hex, four, eight, octal, letter) => {
    if (letter !== undefined) return kEscapes[letter] ?? "";
    const code = octal === undefined ? Number.parseInt(hex ?? four ?? eight, 16) : undefined;
    const point = code ?? Number.parseInt(octal, 8) & 0xff;
    return point > 0x10ffff ? "" : String.fromCodePoint(point);
  });
}

/** Returns what an `echo` or a `printf` with these words prints; undefined if it can't be determined. */
export function printedText(words: readonly Value[]): Value | undefined {
  const [name, ...rest] = words;
  if (name?.text === "echo") {
    const options = rest.findIndex(({ text }) => !/^-[neE]+$/.test(text));
    const given = options < 0 ? rest.length : options;
    const shown = rest.slice(given);
    const text = shown.map((word) => word.text).join(" ");
    const escapes = rest.slice(0, given).some((word) => word.text.includes("e"));
    const literal = shown.every((word) => word.literal);
    return limited({ text: escapes ? unescaped(text) : text, literal });
  }
  const start = rest[0]?.text === "--" ? 1 : 0;
  const [format, ...values] = rest.slice(start);
  return format === undefined ? undefined : formatted(format, values);
}

const kDirective = /%(?:%|[-+ #0]*\d*(?:\.(\d+))?([sbcqdiuoxX]))/g;

/** Returns the text that `printf` makes of a format and its arguments. */
export function formatted(format: Value, values: readonly Value[]): Value | undefined {
  const template = unescaped(format.text);
  if (/%(?!%)/.test(template.replace(kDirective, ""))) return undefined;
  let text = "";
  let next = 0;
  // The format is used again for arguments that are left.
  do {
    const before = next;
    text += template.replace(kDirective, (directive, precision, letter) => {
      if (directive === "%%") return "%";
      const value = values[next++]?.text ?? "";
      if (letter === "c") return value.slice(0, 1);
      const whole = letter === "b" ? unescaped(value) : value;
      const numeric = letter !== "s" && letter !== "b" && letter !== "q";
      return precision === undefined || numeric ? whole : whole.slice(0, Number(precision));
    });
    if (next === before) break;
  } while (next < values.length && text.length <= kMostText);
  return limited({ text, literal: format.literal && values.every(({ literal }) => literal) });
}

function limited(value: Value): Value | undefined {
  return value.text.length > kMostText ? undefined : value;
}
