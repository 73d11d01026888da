const kUnits = ["B", "KiB", "MiB", "GiB", "TiB"] as const;

/**
 * Bytes of "4096", "64K", "512M", "2G", "1T"; units are binary and may be written K, KB or KiB, in
 * any case. Undefined when the text is no such size or not a whole number of bytes.
 */
export function parseSize(text: string): number | undefined {
  const [, number, prefix = ""] = /^(\d+(?:\.\d+)?)(?:([KMGT])(?:i?B)?|B)?$/i.exec(text) ?? [];
  if (number === undefined) return undefined;
  const bytes = Number(number) * 1024 ** " KMGT".indexOf(prefix.toUpperCase() || " ");
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

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
