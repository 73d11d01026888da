/** Hides host paths in what is recorded. Pure. */

const kRedacted = "<redacted>";

/** Without slashes at its end; "" for the root, which is no secret. */
function trimmed(path: string): string {
  return path.replace(/\/+$/, "");
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}

/**
 * A function that replaces each of `paths`, wherever it stands in a text, the longest first. A path
 * ends with its component: "/home/me" is hidden in "--dir=/home/me/x", and left in "/home/mexico".
 */
export function redactor(paths: readonly string[]): (text: string) => string {
  const known = [...new Set(paths.map(trimmed))].filter((path) => path !== "");
  if (known.length === 0) return (text) => text;
  known.sort((a, b) => b.length - a.length);
  const pattern = new RegExp(`(?:${known.map(escaped).join("|")})(?![\\p{L}\\p{N}_-])`, "gu");
  return (text) => text.replace(pattern, kRedacted);
}
