/** What a command may have named, shown so that nothing of it is obeyed, hidden or mistaken. */

/** Control, format (direction, zero width) and separator characters, lone surrogates, and the escape itself. */
const kUnseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\u115f\u1160\u3164\uffa0\ufffd\\"]/gu;

/** @param {string} character */
function escaped(character) {
  if (character === "\\" || character === '"') return `\\${character}`;
  if (character === "\n") return "\\n";
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}

/**
 * On one line, between quotes that end where the text ends: different texts look different, but for
 * letters that look alike.
 * @param {string} text
 */
export function quoted(text) {
  return `"${text.replace(kUnseen, escaped)}"`;
}
