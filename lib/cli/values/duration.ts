const kMilliseconds: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

/**
 * Milliseconds of "500ms", "30s", "1.5m", "1h"; a plain number is seconds, as in timeout(1); "none"
 * is Infinity. Undefined when the text is none of these or not above 0.
 */
export function parseDuration(text: string): number | undefined {
  if (text === "none") return Number.POSITIVE_INFINITY;
  const [, number, unit = "s"] = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text) ?? [];
  const factor = kMilliseconds[unit];
  if (number === undefined || factor === undefined) return undefined;
  const milliseconds = Math.ceil(Number(number) * factor);
  return milliseconds > 0 ? milliseconds : undefined;
}

/** The shortest of the forms above: 90000 is "90s", 60000 "1m". */
export function formatDuration(milliseconds: number): string {
  if (!Number.isFinite(milliseconds)) return "none";
  for (const unit of ["h", "m", "s"]) {
    const count = milliseconds / (kMilliseconds[unit] ?? 1);
    if (Number.isInteger(count)) return `${count}${unit}`;
  }
  return `${milliseconds}ms`;
}
