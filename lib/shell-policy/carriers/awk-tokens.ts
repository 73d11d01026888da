/**
 * An awk program as tokens, in one pass. Whether a slash begins a pattern or divides is told by
 * what stands before it; where that does not tell, the token list says so.
 */

export type AwkToken = {
  readonly kind: "string" | "name" | "number" | "pattern" | "sign";
  /** A string's value; of a pattern nothing. */
  readonly text: string;
  /** False for a string with escapes that are not resolved here. */
  readonly exact: boolean;
};

export type AwkTokens = {
  readonly tokens: readonly AwkToken[];
  /** The text may also be read as other tokens. */
  readonly ambiguous: boolean;
};

const kToken =
  /[ \t\r]+|\\\r?\n|#[^\n]*|[A-Za-z_]\w*|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|\|\||\|&|&&|\+\+|--|[\s\S]/y;
const kBeforePattern =
  /^(?:print|printf|return|in|else|do|while|if|case|delete|exit|next|for|function|func)$/;
const kEscapes: Readonly<Record<string, string>> = {
  n: "\n",
  t: "\t",
  '"': '"',
  "\\": "\\",
  "/": "/",
};

/** Index after the string that begins at `from`, with its value. */
function readString(text: string, from: number): { end: number; token: AwkToken } {
  let value = "";
  let exact = true;
  let at = from + 1;
  for (; at < text.length && text[at] !== '"'; at++) {
    const char = text.charAt(at);
    if (char !== "\\") value += char;
    else {
      const escaped = text.charAt(++at);
      const meant = Object.hasOwn(kEscapes, escaped) ? kEscapes[escaped] : undefined;
      if (escaped !== "\n") value += meant ?? escaped;
      if (meant === undefined && escaped !== "\n") exact = false;
    }
  }
  if (at >= text.length) exact = false;
  return { end: at + 1, token: { kind: "string", text: value, exact } };
}

/** Index after the pattern that begins at `from`, or nothing where its line has no other slash. */
function patternEnd(text: string, from: number, brackets: boolean): number | undefined {
  let set = -1;
  for (let at = from + 1; at < text.length && text[at] !== "\n"; at++) {
    const char = text[at];
    if (char === "\\") at++;
    else if (set >= 0) {
      // The first `]` of a set is one of its characters.
      if (char === "]" && at > set) set = -1;
    } else if (char === "[" && brackets) set = at + (text[at + 1] === "^" ? 2 : 1);
    else if (char === "/") return at + 1;
  }
  return undefined;
}

function divides(last: AwkToken | undefined): boolean | "perhaps" {
  if (last === undefined) return false;
  if (last.kind === "name") {
    if (last.text === "getline") return "perhaps";
    return !kBeforePattern.test(last.text);
  }
  if (last.kind !== "sign") return true;
  if (last.text === ")" || last.text === "++" || last.text === "--") return "perhaps";
  return last.text === "]";
}

/** `brackets`: a slash in `[…]` does not end a pattern, as for gawk but not for all. */
export function awkTokens(text: string, brackets: boolean): AwkTokens {
  const tokens: AwkToken[] = [];
  let ambiguous = false;
  /** No pattern ends before this, so that no line is searched again and again. */
  let searched = 0;
  let at = 0;
  while (at < text.length) {
    if (text[at] === '"') {
      const { end, token } = readString(text, at);
      tokens.push(token);
      at = end;
      continue;
    }
    if (text[at] === "/") {
      const dividing = divides(tokens.at(-1));
      const search = dividing !== true && at >= searched;
      const end = search ? patternEnd(text, at, brackets) : undefined;
      if (search && end === undefined) {
        const line = text.indexOf("\n", at);
        searched = line < 0 ? text.length : line;
      }
      if (dividing === "perhaps" && end !== undefined) ambiguous = true;
      if (dividing === false && end === undefined) ambiguous = true;
      if (dividing === false && end !== undefined) {
        tokens.push({ kind: "pattern", text: "", exact: true });
        at = end;
        continue;
      }
    }
    kToken.lastIndex = at;
    const [found = ""] = kToken.exec(text) ?? [];
    at += Math.max(1, found.length);
    if (/^(?:[ \t\r#]|\\\r?\n)/.test(found)) continue;
    const kind = /^[A-Za-z_]/.test(found) ? "name" : /^\.?\d/.test(found) ? "number" : "sign";
    tokens.push({ kind, text: found, exact: true });
  }
  return { tokens, ambiguous };
}
