/** Text that a command may have chosen, for a terminal: names and contents of files. Pure. */

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const kControls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

function escaped(character: string): string {
  const code = character.charCodeAt(0);
  if (code < 0x20) return `^${String.fromCharCode(code + 0x40)}`;
  if (code === 0x7f) return "^?";
  return `\\u${code.toString(16).padStart(4, "0")}`;
}

/**
 * What a terminal would obey is shown instead: control characters but newline and tab (an escape is
 * ^[), and changes of the writing direction.
 */
export function visibleText(text: string): string {
  return text.replace(kControls, escaped);
}

/** The same on one line. */
export function visibleLine(text: string): string {
  return visibleText(text.replaceAll("\n", "\\n").replaceAll("\t", "\\t"));
}
