/**
 * What a page shows as output, against what came. A line must be the same to the letter, but for `…`,
 * which stands for any text within the line, and a line of `...` alone, which stands for any number of
 * lines. What differs from run to run or machine to machine is named in a comment above the block.
 */

const kVarying: Record<string, [pattern: RegExp, stands: string]> = {
  numbers: [/\d+(?:\.\d+)?/g, "\\d+(?:\\.\\d+)?"],
  paths: [/(?<![\w.])\/[\w.+-]+(?:\/[\w.+-]+)*/g, "/[\\w.+/-]+"],
};

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** The text as a pattern, with each thing of these kinds replaced by what it may be. */
function patternOf(text: string, differs: readonly string[]): string {
  const [kind, ...others] = differs;
  if (kind === undefined) return text.split("…").map(escaped).join("[^\\n]*?");
  const [pattern, stands] = kVarying[kind] ?? [];
  if (pattern === undefined || stands === undefined) {
    throw new Error(`\`differs\`: expected ${Object.keys(kVarying).join(" or ")}, got ${kind}`);
  }
  return text
    .split(pattern)
    .map((part) => patternOf(part, others))
    .join(stands);
}

/** Whether `actual` is what `shown` says. Paths are looked for before numbers, which they may hold. */
export function matchesShown(shown: string, actual: string, differs: readonly string[]): boolean {
  const kinds = [...differs].sort().reverse();
  const lines = shown
    .trimEnd()
    .split("\n")
    .map((line) =>
      line.trim() === "..." ? "(?:[^\\n]*\\n)*?" : `${patternOf(line.trimEnd(), kinds)} *\\n`,
    );
  return new RegExp(`^${lines.join("")}$`).test(`${actual.trimEnd()}\n`);
}
