/** What is refused before it is parsed: the parser's cost and what a reader sees stay bounded. */

import type { ShellFinding } from "./verdict.js";

const kMaxBytes = 16 * 1024;
/** Nested substitutions cost the parser quadratic time; honest commands stay far below. */
const kMaxOpenings = 512;
const kMaxHereDocuments = 64;
/** Of statements, groups, substitutions and strings that are run, in all. */
export const kMaxDepth = 64;
/** Of one pipeline. */
export const kMaxStages = 256;
/** Of the check of one command: far above honest ones, and done in a few milliseconds. */
export const kMaxSteps = 256 * 1024;
/** For visiting a node of the parsed script, besides reading its text again. */
export const kNodeSteps = 4;
/** For one more call or assignment, and for each of its words, besides looking at their characters. */
export const kCallSteps = 128;
export const kWordSteps = 16;
/** For each character of a word that may be a glob, which is compared with many names. */
export const kGlobSteps = 4;
/** For each word that braces expand to, which is parsed by itself. */
export const kBraceSteps = 64;
/** For each character that is parsed. */
export const kParseSteps = 2;

// Controls but tab and newline, bidirectional controls, and the marks that word.ts uses.
const kControl = /(?![\t\n])\p{Cc}|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufdd0-\ufddf]/u;
const kOpening = /\$[({[]|`|[<>]\(|\(\(/g;
const kHereDocument = /<</g;

function tooMany(text: string, pattern: RegExp, most: number): boolean {
  return (text.match(pattern)?.length ?? 0) > most;
}

/** The first reason not to parse this text, if there is one. */
export function beyondLimits(text: string): ShellFinding | undefined {
  const most = text.length * 3;
  if (text.length > kMaxBytes || (most > kMaxBytes && Buffer.byteLength(text) > kMaxBytes)) {
    return { rule: "too-long", reason: "The command is longer than 16 KiB." };
  }
  const position = text.search(kControl);
  if (position >= 0) {
    const code = text.charCodeAt(position).toString(16).toUpperCase().padStart(4, "0");
    const reason = `The command holds the control character U+${code}.`;
    return { rule: "control-character", reason, position };
  }
  if (text.length <= kMaxHereDocuments) return undefined;
  if (tooMany(text, kOpening, kMaxOpenings) || tooMany(text, kHereDocument, kMaxHereDocuments)) {
    return { rule: "too-deep", reason: "The command holds too many substitutions." };
  }
  return undefined;
}
