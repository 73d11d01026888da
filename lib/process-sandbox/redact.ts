/** Hides host paths in what is recorded. Pure. */

import { posix } from "node:path";

const kRedacted = "<redacted>";

/** As written and as normalized, without slashes at the end; "" for the root, which is no secret. */
function spellings(path: string): string[] {
  return [path, posix.normalize(path)].map((each) => each.replace(/\/+$/, ""));
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}

/**
 * A function that replaces each of `paths`, wherever it stands in a text, the longest first. A path
 * ends with its component: "/home/me" is hidden in "--dir=/home/me/x", and left in "/home/mexico".
 */
export function redactor(paths: readonly string[]): (text: string) => string {
  const known = [...new Set(paths.flatMap(spellings))].filter((path) => path !== "");
  if (known.length === 0) return (text) => text;
  known.sort((a, b) => b.length - a.length);
  const pattern = new RegExp(`(?:${known.map(escaped).join("|")})(?![\\p{L}\\p{N}_-])`, "gu");
  return (text) => text.replace(pattern, kRedacted);
}
