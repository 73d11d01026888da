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
