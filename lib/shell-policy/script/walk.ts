/**
 * Walks a parsed script and reports to a visitor everything that it would run, and all syntax that the shell
 * may read differently. An unknown node is refused.
 */

import {
  type Assignment,
  type Command,
  forEachChild,
  type HereDoc,
  type Pipeline,
  type PipelineNode,
  type Redirection,
  type SyntaxNode,
  type Word,
} from "unbash";

import { type Budget, kMaxDepth, kMaxStages, kNodeSteps, kParseSteps } from "../budget.js";
import { basename } from "../path.js";
import { type Bindings, unsplit } from "./expansion.js";
import { printedText } from "./printed.js";
import { hazardOf, readsArithmetic, type SyntaxHazard } from "./syntax.js";
import { isPlain, type ShellWord, shellWords } from "./word.js";

export type ScriptVisitor = {
  /** False once no further visit is needed. */
  readonly going: boolean;
  command(command: Command, place: Place): void;
  redirections(redirections: readonly Redirection[], place: Place): void;
  assignment(assignment: Assignment, place: Place): void;
  /** A variable that is set other than by an assignment; to `value`, if that is known. */
  variable(name: string, position: number, place: Place, value?: Word): void;
  /** Words that a loop iterates over. */
  values(words: readonly Word[], place: Place, variable: string): void;
  /** Arithmetic on variables, in which a subscript is expanded once more. */
  arithmetic(node: SyntaxNode, place: Place): void;
  /** A function that later commands may call. */
  defines(name: string): void;
  hazard(hazard: SyntaxHazard, position: number, place: Place): void;
  tooDeep(): void;
  /** True if work of so many steps may be done; see `Budget`. */
  spend(steps: number): boolean;
};

/** Nodes whose children the parser creates on demand, by reading the text again. */
const kLazy: ReadonlySet<SyntaxNode["type"]> = new Set([
  "ArithmeticCommand",
  "ArithmeticCommandExpansion",
  "ArithmeticExpansion",
  "ArithmeticFor",
  "ArithmeticWord",
  "Assignment",
  "CommandExpansion",
  "HereDocBody",
  "ParameterExpansion",
  "ProcessSubstitution",
  "Word",
]);

function stepsOf(node: SyntaxNode): number {
  return kLazy.has(node.type) ? kNodeSteps + kParseSteps * (node.end - node.pos) : kNodeSteps;
}

function walkPipeline(node: Pipeline, place: Place, visitor: ScriptVisitor, depth: number): void {
  if (node.commands.length > kMaxStages) {
    visitor.tooDeep();
    return;
  }
  const timed = node.prefixes.some((prefix) => prefix.type === "Time");
  const several = node.commands.length > 1;
  const concurrent = place.concurrent || several;
  const certain = place.certain && !several;
  let before: Upstream | undefined;
  for (const command of node.commands) {
    const first = before === undefined;
    const upstream = first ? place.upstream : before;
    const its = { ...place, upstream, concurrent, certain, timed: timed && first };
    walk(command, its, visitor, depth + 1);
    before = new Upstream(command, before);
  }
}

export function walk(node: SyntaxNode, place: Place, visitor: ScriptVisitor, depth: number): void {
  if (node.type === "Word" && isPlain(node.text)) return;
  if (!visitor.going) return;
  if (depth > kMaxDepth) {
    visitor.tooDeep();
    return;
  }
  if (!visitor.spend(stepsOf(node))) return;
  const hazard = hazardOf(node);
  if (hazard) visitor.hazard(hazard, node.pos, place);

  if (readsArithmetic(node)) visitor.arithmetic(node, place);
  let below = place;
  switch (node.type) {
    case "Script": {
      const [error] = node.errors ?? [];
      if (error) {
        const what = `The shell syntax can't be read: ${error.message}.`;
        visitor.hazard({ kind: "unreadable", what }, error.pos, place);
        return;
      }
      // Positions in the text of nested backquotes refer to that text.
      const own = node.source === undefined || place.fixed !== undefined;
      below = own ? apart(place) : { ...apart(place), fixed: { position: node.pos } };
      break;
    }
    case "Command":
      visitor.command(node, place);
      below = node.name ? perhaps(apart(place)) : apart(place);
      break;
    case "Pipeline":
      walkPipeline(node, place, visitor, depth);
      return;
    case "Statement":
      if (node.background) below = { ...place, concurrent: true, certain: false };
      break;
    case "Function":
      visitor.defines(node.name.value);
      below = { ...perhaps(apart(place)), functions: [...place.functions, node.name.value] };
      break;
    case "Redirected":
      visitor.redirections(node.redirects, place);
      below = { ...place, input: node.redirects };
      break;
    case "For":
    case "Select":
      visitor.variable(node.name.value, node.pos, place);
      if (node.wordlist) visitor.values(node.wordlist, place, node.name.value);
      below = perhaps(place);
      break;
    case "Coproc":
      if (node.name) visitor.variable(node.name.value, node.pos, place);
      below = { ...place, concurrent: true, certain: false };
      break;
    case "Assignment":
      visitor.assignment(node, place);
      below = apart(place);
      break;
    case "AndOr":
      for (const [index, command] of node.commands.entries()) {
        walk(command, index > 0 ? perhaps(place) : place, visitor, depth + 1);
      }
      return;
    case "BraceGroup":
    case "CompoundList":
      break;
    case "ArithmeticFor":
    case "Case":
    case "CaseItem":
    case "Elif":
    case "If":
    case "Subshell":
    case "While":
      below = perhaps(place);
      break;
    case "ArithmeticBinary": {
      const { left, operator } = node;
      const sets = /(?:^|[^=!<>])=$|^(?:<<|>>)=$/.test(operator);
      if (sets && left.type === "ArithmeticWord") visitor.variable(left.value, node.pos, place);
      below = apart(place);
      break;
    }
    case "ParameterExpansion":
      // ${name:=value}
      if (node.operation?.type === "Default" && node.operation.operator.endsWith("=")) {
        visitor.variable(node.parameter, node.pos, place, node.operation.operand);
      }
      below = apart(place);
      break;
    case "FileDescriptorVariable":
      visitor.variable(node.name, node.pos, place);
      return;
    case "ArithmeticCommandExpansion":
    case "CommandExpansion":
    case "ProcessSubstitution":
      below = perhaps(apart(place));
      break;
    case "ArithmeticCommand":
    case "ArithmeticExpansion":
    case "ArithmeticGroup":
    case "ArithmeticTernary":
    case "ArithmeticUnary":
    case "ArithmeticWord":
    case "ArrayValue":
    case "BraceExpansion":
    case "CaseModification":
    case "Default":
    case "DoubleQuoted":
    case "ExtendedGlob":
    case "Glob":
    case "HereDoc":
    case "HereDocBody":
    case "HereString":
    case "LocaleString":
    case "Redirect":
    case "Remove":
    case "Replace":
    case "Slice":
    case "TestBinary":
    case "TestCommand":
    case "TestGroup":
    case "TestLogical":
    case "TestNot":
    case "TestUnary":
    case "Transform":
    case "Word":
      below = apart(place);
      break;
    case "AnsiCQuoted":
    case "FileDescriptor":
    case "HereDocDelimiter":
    case "Literal":
    case "Names":
    case "Negation":
    case "SimpleExpansion":
    case "SingleQuoted":
    case "Time":
    case "Unknown":
      return;
    default: {
      const what = "The parser knows syntax that this check does not.";
      visitor.hazard({ kind: "unreadable", what }, 0, place);
      return;
    }
  }
  forEachChild(node, (child) => walk(child, below, visitor, depth + 1));
}

/** The position of a command in a script, as far as it affects the command's meaning. */

export type Place = {
  /** The position to report if the nodes' own positions refer to another text. */
  readonly fixed: { readonly position: number | undefined } | undefined;
  /** Commands before this one in its pipeline. */
  readonly upstream: Upstream | undefined;
  /** True after the keyword `time`. */
  readonly timed: boolean;
  /** True in a pipeline of several commands, or in the background. */
  readonly concurrent: boolean;
  /** Functions whose body contains the command. */
  readonly functions: readonly string[];
  /** True if the command runs once, in the order of the text, and in this shell. */
  readonly certain: boolean;
  /** Redirections of the compound command around it, whose input it may read. */
  readonly input: readonly Redirection[];
};

export const kTopPlace: Place = {
  fixed: undefined,
  upstream: undefined,
  timed: false,
  concurrent: false,
  functions: [],
  certain: true,
  input: [],
};

/** Returns the place for a new list of commands. */
function apart(place: Place): Place {
  if (place.upstream === undefined && !place.timed && !place.concurrent) return place;
  return { ...place, upstream: undefined, timed: false, concurrent: false };
}

/** Returns the place for commands that run once, several times, or never. */
function perhaps(place: Place): Place {
  return place.certain ? { ...place, certain: false } : place;
}

/** Returns the position to report for a node at `own`. */
export function positionIn({ fixed }: Place, own: number): number | undefined {
  return fixed ? fixed.position : own;
}

/** Returns the texts of here-documents and here-strings among the redirections. */
export function hereTexts(
  nodes: readonly Redirection[],
  position: number | undefined,
  budget: Budget,
  bindings?: Bindings,
): ShellWord[] {
  return nodes.flatMap((node): ShellWord[] => {
    if (node.type === "HereDoc") return [hereDocument(node, position, budget, bindings)];
    if (node.type !== "HereString" || node.target === undefined) return [];
    return shellWords(node.target, position, budget, bindings);
  });
}

/** Returns the text of a here-document; without bindings, as it is written. */
export function hereDocument(
  node: HereDoc,
  position: number | undefined,
  budget: Budget,
  bindings?: Bindings,
): ShellWord {
  const { text: raw, parts } = node.body;
  const literal = node.delimiter?.quoted === true || parts === undefined;
  if (literal || bindings === undefined) return { text: raw, literal, raw, position };
  const value = unsplit({ type: "Word", text: raw, value: raw, pos: 0, end: 0, parts }, bindings);
  budget.spend(kParseSteps * raw.length + value.text.length);
  return { ...value, raw, position };
}

/** The commands before a pipe, as far as they can be determined. */

/** Returns the names of all commands in the node, and their arguments, to cover command wrappers. */
function commandNames(node: PipelineNode): string[] {
  const found: string[] = [];
  const visit = (each: SyntaxNode): void => {
    if (each.type === "Command") {
      if (each.name) found.push(basename(each.name.value));
      for (const word of each.args) if (word.type === "Word") found.push(basename(word.value));
    } else if (each.type !== "Word" && each.type !== "Assignment") {
      forEachChild(each, visit);
    }
  };
  visit(node);
  return found;
}

class Upstream {
  readonly #last: PipelineNode;
  readonly #before: Upstream | undefined;
  #names: readonly string[] | undefined;

  constructor(last: PipelineNode, before: Upstream | undefined) {
    this.#last = last;
    this.#before = before;
  }

  /** Returns the names of the commands; empty once the budget is spent, which then refuses the command. */
  names(budget: Budget): readonly string[] {
    if (this.#names === undefined) {
      if (!budget.spend(this.#last.end - this.#last.pos)) return [];
      this.#names = [...(this.#before?.names(budget) ?? []), ...commandNames(this.#last)];
    }
    return budget.spend(this.#names.length) ? this.#names : [];
  }

  /** Returns what an `echo`, a `printf` or a `cat` of a here-document prints, if that is last. */
  printed(position: number | undefined, budget: Budget, bindings?: Bindings): readonly ShellWord[] {
    const node = this.#last;
    if (node.type !== "Command" || !node.name) return [];
    if (node.name.value === "cat") return hereTexts(node.redirects, position, budget, bindings);
    if (!/^(?:echo|printf)$/.test(node.name.value)) return [];
    const words = [node.name, ...node.args].flatMap((word) =>
      word.type === "Word" ? shellWords(word, position, budget, bindings) : [],
    );
    const [, ...values] = words;
    const [first] = values;
    const output = first && printedText(words);
    return output ? [{ ...first, ...output }] : values;
  }
}
