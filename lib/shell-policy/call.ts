/** One command as it would be run: its words, what it reads and writes, and what feeds it. */

import type { Assignment, Redirection } from "unbash";

import type { Budget } from "./budget.js";
import type { ShellBlockRule, ShellFinding } from "./policy.js";
import { type Place, positionIn } from "./script/walk.js";
import { type ShellWord, shellWords } from "./script/word.js";

export type ShellRedirect = {
  /** `<<` also for `<<-`. */
  readonly operator: string;
  /** The file's name, or the text of a here-document or here-string. */
  readonly target: ShellWord;
};

export type ShellCall = {
  /** The command's name without its folders. */
  readonly name: string;
  /** The command word and its arguments; never empty. */
  readonly words: readonly ShellWord[];
  readonly redirects: readonly ShellRedirect[];
  /** Names of the commands that feed its input through a pipe. */
  readonly upstream: () => readonly string[];
  /** What an `echo` or `printf` just before it in the pipeline would print. */
  readonly piped: () => readonly ShellWord[];
  /** The folder it runs in where a literal `cd` led there. */
  readonly directory: string | undefined;
};

/** What a call does beyond running its command word; found by carriers, judged by the inspector. */
export type Effect =
  | { readonly kind: "call"; readonly words: readonly ShellWord[] }
  /** Words of which one may begin a command, or surely does; those before are the program's own. */
  | { readonly kind: "perhaps"; readonly words: readonly ShellWord[]; readonly certain: boolean }
  /** A string that a shell will read. */
  | { readonly kind: "code"; readonly word: ShellWord }
  | { readonly kind: "variable"; readonly name: string; readonly value: ShellWord }
  | {
      readonly kind: "finding";
      readonly rule: ShellFinding["rule"];
      readonly reason: string;
      readonly word: ShellWord;
    };

/** Finds the effects of the commands that it is listed for. */
export type CommandWrapper = (call: ShellCall) => Effect[];

export function shellRedirect(
  node: Redirection,
  place: Place,
  budget: Budget,
): ShellRedirect | undefined {
  if (node.type === "HereDoc") {
    const { text, parts } = node.body;
    const literal = node.delimiter?.quoted === true || parts === undefined;
    const target = { text, literal, raw: text, position: positionIn(place, node.pos) };
    return { operator: "<<", target };
  }
  if (node.target === undefined) return undefined;
  const words = shellWords(node.target, positionIn(place, node.target.pos), budget);
  const [target] = words;
  if (target === undefined) return undefined;
  return {
    operator: node.operator,
    target: { ...target, literal: target.literal && words.length < 2 },
  };
}

/** An assignment among the arguments (`export A=b`) as a word. */
export function assignmentWords(node: Assignment, place: Place, budget: Budget): ShellWord[] {
  const position = positionIn(place, node.pos);
  const start = { raw: node.text, position };
  if (node.value.type !== "Word") return [{ ...start, text: `${node.name}=`, literal: true }];
  return shellWords(node.value, position, budget).map(({ text, literal }) => ({
    ...start,
    text: `${node.name}=${text}`,
    literal,
  }));
}

/** A class of the block list, or a part of one. */

export type ShellRule = {
  readonly name: ShellBlockRule;
  readonly reason: string;
  /** The commands it is about, by name. */
  readonly commands: readonly string[];
  /** The offending word; the command word itself where no argument is to blame. */
  readonly find: (call: ShellCall) => ShellWord | undefined;
};

/** Any use of the command. */
export function anyUse({ words }: ShellCall): ShellWord | undefined {
  return words[0];
}

/** The arguments that are not options. */
export function operands({ words }: ShellCall): ShellWord[] {
  const found: ShellWord[] = [];
  let dashes = false;
  for (const word of words.slice(1)) {
    if (!dashes && word.text === "--") dashes = true;
    else if (dashes || !word.text.startsWith("-") || word.text === "-") found.push(word);
  }
  return found;
}
