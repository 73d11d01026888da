/**
 * The remaining cost of checking one command, so that no text blocks its caller. Counted in steps, each about
 * the time to look at one character; a clock would make verdicts depend on the machine. Each check has one
 * budget; once spent, it stays spent.
 */

import type { ShellFinding } from "./policy.js";

export class Budget {
  #steps = kMaxSteps;
  #nesting = 0;

  /** Depth of nested calls and strings. */
  get nesting(): number {
    return this.#nesting;
  }

  get tooDeep(): boolean {
    return this.#nesting > kMaxDepth;
  }

  get spent(): boolean {
    return this.#steps < 0;
  }

  /** Call before work of so many steps; false if the work must not be done. */
  spend(steps: number): boolean {
    this.#steps -= steps;
    return this.#steps >= 0;
  }

  /** Spends everything, for work that would take too many steps and is not done. */
  exhaust(): void {
    this.#steps = -1;
  }

  /** Does work one nesting level deeper. */
  nested(work: () => void): void {
    this.#nesting++;
    work();
    this.#nesting--;
  }
}

/** Limits checked before parsing: they bound the parser's cost and the text that a reader sees. */

const kMaxBytes = 16 * 1024;
/** Nested substitutions cost the parser quadratic time; normal commands are far below this. */
const kMaxOpenings = 512;
const kMaxHereDocuments = 64;
/** Total depth of statements, groups, substitutions and strings that are run. */
export const kMaxDepth = 64;
/** Commands in one pipeline. */
export const kMaxStages = 256;
/** Steps for checking one command: far above normal commands, and done in a few milliseconds. */
export const kMaxSteps = 256 * 1024;
/** Steps for visiting a node of the parsed script, besides reading its text again. */
export const kNodeSteps = 4;
/** Steps for each call or assignment, and for each of its words, besides looking at their characters. */
export const kCallSteps = 128;
export const kWordSteps = 16;
/** Steps for each character of a word that may be a glob, which is compared with many names. */
export const kGlobSteps = 4;
/** Steps for each word that a brace expansion yields, which is parsed separately. */
export const kBraceSteps = 64;
/** Steps for each parsed character. */
export const kParseSteps = 2;

// Controls except tab and newline, bidirectional controls, and the marks that word.ts uses.
const kControl = /(?![\t\n])\p{Cc}|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufdd0-\ufddf]/u;
const kOpening = /\$[({[]|`|[<>]\(|\(\(/g;
const kHereDocument = /<</g;

function tooMany(text: string, pattern: RegExp, most: number): boolean {
  return (text.match(pattern)?.length ?? 0) > most;
}

/** Returns the first reason not to parse this text, if any. */
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
