/** Paths of a workspace's entries: relative, "/" between names, "." for the workspace itself. */

/** The workspace itself. */
export const kTop = ".";

const kLongestName = 255; // bytes of UTF-8, as the kernel has it
const kLongestPath = 32_768;
const kSurrogates = /[\ud800-\udfff]/;
const kLoneSurrogate = /\p{Surrogate}/u;

function isName(name: string): boolean {
  if (name === "" || name === "." || name === "..") return false;
  return name.length <= kLongestName && Buffer.byteLength(name) <= kLongestName;
}

/** Whether a path from elsewhere leads to an entry below a workspace, or is the workspace itself. */
export function isEntryPath(path: string): boolean {
  if (path === kTop) return true;
  if (path.length > kLongestPath || path.includes("\0")) return false;
  if (kSurrogates.test(path) && kLoneSurrogate.test(path)) return false;
  return path.split("/").every(isName);
}

/** Of the directory that holds it; the top's own for what lies there, and for itself. */
export function parentOf(path: string): string {
  const slash = path.lastIndexOf("/");
  return slash < 0 ? kTop : path.slice(0, slash);
}

/** Whether `path` is `above`, or lies below it. */
export function isWithin(path: string, above: string): boolean {
  return above === kTop || path === above || path.startsWith(`${above}/`);
}

/** A UTF-16 unit's place among them in UTF-8, where surrogates stand for what comes last; "/" is first. */
function rankOf(path: string, at: number): number {
  const unit = path.charCodeAt(at); // NaN behind the end
  if (unit === 0x2f) return 0;
  if (unit < 0xd800) return unit;
  if (unit >= 0xe000) return unit - 0x800;
  return Number.isNaN(unit) ? -1 : unit + 0x2000;
}

/** The canonical order: names by their bytes in UTF-8, and what a directory holds directly behind it. */
export function comparePaths(one: string, other: string): number {
  if (one === other) return 0;
  if (one === kTop || other === kTop) return one === kTop ? -1 : 1;
  let at = 0;
  while (one.charCodeAt(at) === other.charCodeAt(at)) at += 1;
  return rankOf(one, at) - rankOf(other, at);
}
