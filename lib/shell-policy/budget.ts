/**
 * What the check of one command may still cost, so that no text holds up its caller. Counted in
 * steps, of which each is about the time to look at one character; a clock would make verdicts
 * depend on the machine. One of each check; spent, it stays spent.
 */

import type { ShellFinding } from "./policy.js";

export class Budget {
  #steps = kMaxSteps;
  #nesting = 0;

  /** Of calls and strings that are run inside each other. */
  get nesting(): number {
    return this.#nesting;
  }

  get tooDeep(): boolean {
    return this.#nesting > kMaxDepth;
  }

  get spent(): boolean {
    return this.#steps < 0;
  }

  /** Called before work of so many steps; false when it must not be done. */
  spend(steps: number): boolean {
    this.#steps -= steps;
    return this.#steps >= 0;
  }

  /** For work that is not done at all, since it would take too many. */
  exhaust(): void {
    this.#steps = -1;
  }

  /** Does what is nested one level deeper. */
  nested(work: () => void): void {
    this.#nesting++;
    work();
    this.#nesting--;
  }
}

/** What is refused before it is parsed: the parser's cost and what a reader sees stay bounded. */

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
