/** Text for people: what a command may have chosen (names and contents of files), and sizes. Pure. */

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

const kUnits = ["B", "KiB", "MiB", "GiB", "TiB"] as const;

/** Bytes for people: 1536 is "1.5 KiB". */
export function formatSize(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < kUnits.length - 1) {
    value /= 1024;
    unit += 1;
  }
  const digits = Number.isInteger(value) ? 0 : 1;
  return `${value.toFixed(digits)} ${kUnits[unit]}`;
}

/** A word as a POSIX shell reads it back: as it is when nothing in it is special, else in quotes. */
export function shellQuote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/**
 * A command line to read and to paste: each option of `args` on a line of its own, and the command
 * that follows the first "--" on the last.
 */
export function shellLines(cmd: string, args: readonly string[]): string {
  const end = args.indexOf("--");
  const options = end < 0 ? args : args.slice(0, end);
  const lines = [shellQuote(cmd)];
  for (const word of options) {
    if (word.startsWith("--")) lines.push(shellQuote(word));
    else lines.push(`${lines.pop()} ${shellQuote(word)}`);
  }
  if (end >= 0) lines.push(args.slice(end).map(shellQuote).join(" "));
  return lines.join(" \\\n  ");
}
