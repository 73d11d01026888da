/**
 * Brace expansion on raw text, which is where bash does it: quotes are still there and stay.
 * Pure; what would expand to more than a few dozen words is not expanded.
 */

const kMaxWords = 64;

const kNumbers = /^(-?\d+)\.\.(-?\d+)(?:\.\.(-?\d+))?$/;
const kLetters = /^([A-Za-z])\.\.([A-Za-z])(?:\.\.(-?\d+))?$/;

/** Index after the quoted, escaped or substituted text that begins at `at`, or `at` itself. */
function skip(text: string, at: number): number {
  const start = text.slice(at, at + 2);
  if (start[0] === "\\") return at + 2;
  if (start[0] === "'" || start[0] === '"' || start[0] === "`" || start === "$'") {
    let end = at + (start === "$'" ? 2 : 1);
    const quote = start === "$'" ? "'" : start[0];
    while (end < text.length && text[end] !== quote) {
      end += text[end] === "\\" && start[0] !== "'" ? 2 : 1;
    }
    return end + 1;
  }
  if (start !== "$(" && start !== "${" && start !== "<(" && start !== ">(") return at;
  const [open, close] = start === "${" ? ["{", "}"] : ["(", ")"];
  let depth = 1;
  let end = at + 2;
  while (end < text.length && depth > 0) {
    const next = skip(text, end);
    if (next === end) {
      if (text[end] === open) depth++;
      if (text[end] === close) depth--;
      end++;
    } else {
      end = next;
    }
  }
  return end;
}

/** The alternatives between the commas of `inner` that are not quoted or in braces of their own. */
function alternatives(inner: string): string[] {
  const found: string[] = [];
  let depth = 0;
  let start = 0;
  let at = 0;
  while (at < inner.length) {
    const next = skip(inner, at);
    if (next > at) {
      at = next;
      continue;
    }
    if (inner[at] === "{") depth++;
    if (inner[at] === "}") depth--;
    if (inner[at] === "," && depth === 0) {
      found.push(inner.slice(start, at));
      start = at + 1;
    }
    at++;
  }
  found.push(inner.slice(start));
  return found;
}

function range(first: number, last: number, step: number): number[] | undefined {
  const stride = Math.abs(step) || 1;
  const count = Math.floor(Math.abs(last - first) / stride) + 1;
  if (count > kMaxWords) return undefined;
  const sign = last < first ? -1 : 1;
  return Array.from({ length: count }, (_, index) => first + sign * index * stride);
}

function sequence(inner: string): string[] | undefined {
  const numbers = kNumbers.exec(inner);
  if (numbers) {
    const [, first = "", last = "", step = "1"] = numbers;
    const padded = /^-?0\d/.test(first) || /^-?0\d/.test(last);
    const width = padded ? Math.max(first.length, last.length) : 0;
    return range(Number(first), Number(last), Number(step))?.map((value) =>
      value < 0
        ? `-${String(-value).padStart(width - 1, "0")}`
        : String(value).padStart(width, "0"),
    );
  }
  const letters = kLetters.exec(inner);
  // Neither a list nor a sequence: the braces stay.
  if (!letters) return [`\\{${inner}\\}`];
  const [, first = "", last = "", step = "1"] = letters;
  const codes = range(first.charCodeAt(0), last.charCodeAt(0), Number(step));
  return codes?.map((code) => `\\${String.fromCharCode(code)}`);
}

/** The raw texts that `{…}` stands for; undefined when they are too many or can't be told. */
export function braceAlternatives(text: string): string[] | undefined {
  const inner = text.slice(1, -1);
  const found = alternatives(inner);
  return found.length > 1 ? found : sequence(inner);
}

/** Every way to take one of each set, joined; undefined when they are too many. */
export function combinations(sets: readonly (readonly string[])[]): string[] | undefined {
  let words = [""];
  for (const set of sets) {
    words = words.flatMap((word) => set.map((next) => word + next));
    if (words.length > kMaxWords) return undefined;
  }
  return words;
}
