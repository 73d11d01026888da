import { stripVTControlCharacters } from "node:util";

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const kControls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/**
 * Text of the model, of a command or of a file name without what a terminal would obey: escape
 * sequences, other control characters but newline and tab, changes of the writing direction.
 * @param {string} text
 */
export function plainText(text) {
  return stripVTControlCharacters(text).replace(kControls, "");
}

/**
 * The same for text that comes in pieces, where an escape sequence may be cut: what follows the
 * character that starts one stays, and is harmless.
 * @param {string} piece
 */
export function plainPiece(piece) {
  return piece.replace(kControls, "");
}

/**
 * The same on one line.
 * @param {string} text
 */
export function plainLine(text) {
  return plainText(text.replaceAll("\n", "\\n").replaceAll("\t", " "));
}
