/** One command as it would run: its words, its redirections, and the commands that feed it. */

import type { Assignment, Redirection } from "unbash";

import type { Budget } from "./budget.js";
import type { ShellBlockRule, ShellFinding } from "./policy.js";
import { type Bindings, unsplit } from "./script/expansion.js";
import { hereDocument, type Place, positionIn } from "./script/walk.js";
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
  /** Text that an `echo` or `printf` directly before it in the pipeline would print. */
  readonly piped: () => readonly ShellWord[];
  /** The folder it runs in, if a literal `cd` led there. */
  readonly directory: string | undefined;
};

/**
 * An effect of a call beyond running its command word; found by command wrappers, judged by the inspector.
 */
export type Effect =
  | { readonly kind: "call"; readonly words: readonly ShellWord[] }
  /** Words of which one may begin a command, or certainly does; the words before it are the program's own. */
  | { readonly kind: "perhaps"; readonly words: readonly ShellWord[]; readonly certain: boolean }
  /** A string that a shell will read. */
  | { readonly kind: "code"; readonly word: ShellWord }
  | { readonly kind: "variable"; readonly name: string; readonly value: ShellWord }
  /** A variable that stands for another one from here on. */
  | { readonly kind: "reference"; readonly name: string; readonly target: string }
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
  bindings?: Bindings,
): ShellRedirect | undefined {
  if (node.type === "HereDoc") {
    const target = hereDocument(node, positionIn(place, node.pos), budget, bindings);
    return { operator: "<<", target };
  }
  if (node.target === undefined) return undefined;
  const words = shellWords(node.target, positionIn(place, node.target.pos), budget, bindings);
  const [target] = words;
  if (target === undefined) return undefined;
  return {
    operator: node.operator,
    target: { ...target, literal: target.literal && words.length < 2 },
  };
}

/** Returns an assignment among the arguments (`export A=b`) as words. */
export function assignmentWords(
  node: Assignment,
  place: Place,
  budget: Budget,
  bindings?: Bindings,
): ShellWord[] {
  const position = positionIn(place, node.pos);
  const start = { raw: node.text, position };
  if (node.value.type !== "Word") return [{ ...start, text: `${node.name}=`, literal: true }];
  const values = bindings
    ? [unsplit(node.value, bindings)] // the value of an assignment is not split
    : shellWords(node.value, position, budget);
  return values.map(({ text, literal }) => ({
    ...start,
    text: `${node.name}=${text}`,
    literal,
  }));
}

/** A class of the block list, or a part of one. */

export type ShellRule = {
  readonly name: ShellBlockRule;
  readonly reason: string;
  /** The names of the commands it applies to. */
  readonly commands: readonly string[];
  /** Returns the offending word; the command word itself if no argument is at fault. */
  readonly find: (call: ShellCall) => ShellWord | undefined;
};

/** Matches any use of the command. */
export function anyUse({ words }: ShellCall): ShellWord | undefined {
  return words[0];
}

/** Returns the arguments that are not options. */
export function operands({ words }: ShellCall): ShellWord[] {
  const found: ShellWord[] = [];
  let dashes = false;
  for (const word of words.slice(1)) {
    if (!dashes && word.text === "--") dashes = true;
    else if (dashes || !word.text.startsWith("-") || word.text === "-") found.push(word);
  }
  return found;
}
