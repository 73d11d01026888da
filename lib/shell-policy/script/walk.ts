/**
 * Walks a parsed script and reports to a visitor everything that it would run, and all syntax that the shell
 * may read differently. An unknown node is refused.
 */

import {
  type Assignment,
  type Command,
  forEachChild,
  type Pipeline,
  type PipelineNode,
  type Redirection,
  type SyntaxNode,
  type Word,
} from "unbash";

import { type Budget, kMaxDepth, kMaxStages, kNodeSteps, kParseSteps } from "../budget.js";
import { basename } from "../path.js";
import { hazardOf, readsArithmetic, type SyntaxHazard } from "./syntax.js";
import { isPlain, type ShellWord, shellWords } from "./word.js";

export type ScriptVisitor = {
  /** False once no further visit is needed. */
  readonly going: boolean;
  command(command: Command, place: Place): void;
  redirections(redirections: readonly Redirection[], place: Place): void;
  assignment(assignment: Assignment, place: Place): void;
  /** A variable that is set other than by an assignment. */
  variable(name: string, position: number, place: Place): void;
  /** Words that a loop iterates over. */
  values(words: readonly Word[], place: Place): void;
  /** Arithmetic on variables, in which a subscript is expanded once more. */
  arithmetic(): void;
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
  const concurrent = place.concurrent || node.commands.length > 1;
  let before: Upstream | undefined;
  for (const command of node.commands) {
    const first = before === undefined;
    const upstream = first ? place.upstream : before;
    walk(command, { ...place, upstream, concurrent, timed: timed && first }, visitor, depth + 1);
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

  if (readsArithmetic(node)) visitor.arithmetic();
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
      below = apart(place);
      break;
    case "Pipeline":
      walkPipeline(node, place, visitor, depth);
      return;
    case "Statement":
      if (node.background) below = { ...place, concurrent: true };
      break;
    case "Function":
      below = { ...apart(place), functions: [...place.functions, node.name.value] };
      break;
    case "Redirected":
      visitor.redirections(node.redirects, place);
      break;
    case "For":
    case "Select":
      visitor.variable(node.name.value, node.pos, place);
      if (node.wordlist) visitor.values(node.wordlist, place);
      break;
    case "Coproc":
      if (node.name) visitor.variable(node.name.value, node.pos, place);
      below = { ...place, concurrent: true };
      break;
    case "Assignment":
      visitor.assignment(node, place);
      below = apart(place);
      break;
    case "AndOr":
    case "ArithmeticFor":
    case "BraceGroup":
    case "Case":
    case "CaseItem":
    case "CompoundList":
    case "Elif":
    case "If":
    case "Subshell":
    case "While":
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
        visitor.variable(node.parameter, node.pos, place);
      }
      below = apart(place);
      break;
    case "FileDescriptorVariable":
      visitor.variable(node.name, node.pos, place);
      return;
    case "ArithmeticCommand":
    case "ArithmeticCommandExpansion":
    case "ArithmeticExpansion":
    case "ArithmeticGroup":
    case "ArithmeticTernary":
    case "ArithmeticUnary":
    case "ArithmeticWord":
    case "ArrayValue":
    case "BraceExpansion":
    case "CaseModification":
    case "CommandExpansion":
    case "Default":
    case "DoubleQuoted":
    case "ExtendedGlob":
    case "Glob":
    case "HereDoc":
    case "HereDocBody":
    case "HereString":
    case "LocaleString":
    case "ProcessSubstitution":
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
};

export const kTopPlace: Place = {
  fixed: undefined,
  upstream: undefined,
  timed: false,
  concurrent: false,
  functions: [],
};

/** Returns the place for a new list of commands. */
function apart(place: Place): Place {
  if (place.upstream === undefined && !place.timed && !place.concurrent) return place;
  return { ...place, upstream: undefined, timed: false, concurrent: false };
}

/** Returns the position to report for a node at `own`. */
export function positionIn({ fixed }: Place, own: number): number | undefined {
  return fixed ? fixed.position : own;
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

  /** Returns the arguments of an `echo` or a `printf` that is last. */
  printed(position: number | undefined, budget: Budget): readonly ShellWord[] {
    const node = this.#last;
    if (node.type !== "Command" || !node.name || !/^(?:echo|printf)$/.test(node.name.value))
      return [];
    return node.args.flatMap((word) =>
      word.type === "Word" ? shellWords(word, position, budget) : [],
    );
  }
}
