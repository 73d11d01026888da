/**
 * Formats text for people: text that a command may control (names and contents of files), and sizes. Pure.
 */

// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern searches for them
const kControls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

function escaped(character: string): string {
  const code = character.charCodeAt(0);
  if (code < 0x20) return `^${String.fromCharCode(code + 0x40)}`;
  if (code === 0x7f) return "^?";
  return `\\u${code.toString(16).padStart(4, "0")}`;
}

/**
 * Makes characters visible that a terminal would act on: control characters except newline and tab (an escape
 * becomes ^[), and changes of the writing direction.
 */
export function visibleText(text: string): string {
  return text.replace(kControls, escaped);
}

/** Like {@link visibleText}, on one line. */
export function visibleLine(text: string): string {
  return visibleText(text.replaceAll("\n", "\\n").replaceAll("\t", "\\t"));
}

const kUnits = ["B", "KiB", "MiB", "GiB", "TiB"] as const;

/** Formats bytes for people: 1536 is "1.5 KiB". */
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

/** Quotes a word for a POSIX shell; a word without special characters is returned unchanged. */
export function shellQuote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** Returns the words that select a directory of transactions (an absolute path) in `native-runner tx …`; "" for the usual one. */
export function stateDirectoryWords(directory: string | undefined): string {
  return directory === undefined ? "" : ` --state-directory ${shellQuote(directory)}`;
}

/**
 * Formats a command line for reading and pasting: each option of `args` on its own line, and the command
 * after the first "--" on the last line.
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
