/**
 * Walks a parsed script and tells a visitor all that it would run, and all that can't be trusted to
 * be read as the shell will read it. A node that this file does not know is refused.
 */

import {
  type Assignment,
  type Command,
  forEachChild,
  type Pipeline,
  type Redirection,
  type SyntaxNode,
  type Word,
} from "unbash";
import { kMaxDepth, kMaxStages, kNodeSteps, kParseSteps } from "../limits.js";
import { apart, type Place } from "./place.js";
import { hazardOf, readsArithmetic, type SyntaxHazard } from "./syntax.js";
import { Upstream } from "./upstream.js";
import { isPlain } from "./word.js";

export type ScriptVisitor = {
  /** False once nothing more needs to be seen. */
  readonly going: boolean;
  command(command: Command, place: Place): void;
  redirections(redirections: readonly Redirection[], place: Place): void;
  assignment(assignment: Assignment, place: Place): void;
  /** A variable that is set other than by an assignment. */
  variable(name: string, position: number, place: Place): void;
  /** Words that a loop goes through. */
  values(words: readonly Word[], place: Place): void;
  /** Arithmetic on what variables hold, in which a subscript is expanded once more. */
  arithmetic(): void;
  hazard(hazard: SyntaxHazard, position: number, place: Place): void;
  tooDeep(): void;
  /** Whether work of so many steps may be done; see `Budget`. */
  spend(steps: number): boolean;
};

/** Nodes whose children the parser makes only when they are asked for, by reading the text again. */
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
      // Positions in the text of nested backquotes are those of that text.
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
