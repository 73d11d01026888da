/**
 * Syntax that may not be what it looks like: substitutions that quotes hide from a reader but not from the
 * shell, parts that the parser did not resolve, and syntax that only bash reads this way.
 */

import { forEachChild, type SyntaxNode } from "unbash";

export type SyntaxHazard = {
  /** `hidden`: another `sh` would read commands in text that bash treats as a string. */
  readonly kind: "unreadable" | "dialect" | "hidden";
  /** A sentence, or, for dialects, the syntax. */
  readonly what: string;
};

const kSubstitution = /\$[({]|`/;

/** Bash evaluates subscripts and arithmetic once more, so quotes there don't stop a substitution. */
function hides(text: string | undefined): boolean {
  return text !== undefined && kSubstitution.test(text) && /['\\]/.test(text);
}

/** True if a value holds a subscript whose substitution arithmetic would run when it reads the value. */
export function hidesSubscript(text: string): boolean {
  let depth = 0;
  for (let at = 1; at < text.length; at++) {
    const char = text.charAt(at);
    if (char === "[") {
      if (depth > 0 || /\w/.test(text.charAt(at - 1))) depth++;
    } else if (depth === 0) {
    } else if (char === "]") {
      depth--;
    } else if (char === "\\") {
      at++;
    } else if (char === "`" || (char === "$" && /[({]/.test(text.charAt(at + 1)))) {
      return true;
    } else if ((char === '"' || char === "'") && /["']\]|\]["']/.test(text.slice(at, at + 3))) {
      at += 2; // a quoted bracket closes nothing
    }
  }
  return false;
}

function unreadable(what: string): SyntaxHazard {
  return { kind: "unreadable", what };
}

function dialect(what: string): SyntaxHazard {
  return { kind: "dialect", what };
}

const kHidden = unreadable("Arithmetic runs the substitution that these quotes hide.");
const kArithmetic = unreadable("This arithmetic can't be read.");

function subscript(element: string): string | undefined {
  return element.startsWith("[") ? element.slice(0, element.indexOf("]=") + 1) : undefined;
}

/** True if the shell reads a variable's value there as arithmetic, or as a variable's name. */
export function readsArithmetic(node: SyntaxNode): boolean {
  switch (node.type) {
    case "ArithmeticCommand":
    case "ArithmeticExpansion":
    case "ArithmeticFor":
    case "Slice":
      return true;
    case "TestBinary":
      return /^-(?:eq|ne|lt|le|gt|ge)$/.test(node.operator);
    case "TestUnary":
      return /^-[vR]$/.test(node.operator);
    case "ParameterExpansion":
      return node.prefix === "!" || (node.index !== undefined && !/^[@*\d]$/.test(node.index.text));
    case "Assignment":
      return node.index !== undefined;
    case "ArrayValue":
      return node.elements.some(({ text }) => subscript(text) !== undefined);
    case "FileDescriptorVariable":
      return node.name.includes("[");
    default:
      return false;
  }
}

/** Returns the texts in a node that the shell reads as arithmetic. */
export function arithmeticTexts(node: SyntaxNode): string[] {
  switch (node.type) {
    case "ArithmeticCommand":
      return [node.body];
    case "ArithmeticExpansion":
      return [node.text];
    case "ArithmeticFor":
      return [node.initialize, node.test, node.update].flatMap((each) =>
        each ? wordsIn(each) : [],
      );
    case "Slice":
      return [node.offset.text, node.length?.text ?? ""];
    case "TestBinary":
      return [node.left.text, node.right.text];
    case "TestUnary":
      return [node.operand.text];
    case "ParameterExpansion":
    case "Assignment":
      return node.index ? [`_[${node.index.text}]`] : [];
    default:
      return [];
  }
}

function wordsIn(node: SyntaxNode): string[] {
  if (node.type === "ArithmeticWord") return [node.value];
  if (!node.type.startsWith("Arithmetic")) return [];
  const found: string[] = [];
  forEachChild(node, (child) => found.push(...wordsIn(child)));
  return found;
}

/** Returns the hazard of a node itself, not of its children. */
export function hazardOf(node: SyntaxNode): SyntaxHazard | undefined {
  switch (node.type) {
    case "Command": {
      // dash reads `ls &>x arg` as `ls &` and then the command `arg`.
      const at = node.suffix.findIndex(
        (item) => item.type === "Redirect" && /^&>/.test(item.operator),
      );
      const after = at < 0 ? [] : node.suffix.slice(at + 1);
      const word = after.some((item) => item.type === "Word" || item.type === "Assignment");
      return word ? { kind: "hidden", what: "words after &>" } : undefined;
    }
    case "Assignment":
      return hides(node.index?.text) ? kHidden : undefined;
    case "ArrayValue":
      return node.elements.some(({ text }) => hides(subscript(text))) ? kHidden : undefined;
    case "ArithmeticWord":
      return hides(node.value) ? kHidden : undefined;
    case "TestBinary":
      if (!/^-(?:eq|ne|lt|le|gt|ge)$/.test(node.operator)) return undefined;
      return hides(node.left.text) || hides(node.right.text) ? kHidden : undefined;
    case "TestUnary":
      return /^-[vR]$/.test(node.operator) && hides(node.operand.text) ? kHidden : undefined;
    case "TestCommand":
      return dialect("[[ … ]]");
    case "ArithmeticCommand":
      if (!node.expression && kSubstitution.test(node.body)) return kArithmetic;
      return dialect("(( … ))");
    case "ArithmeticExpansion":
      if (node.text.startsWith("$[")) return { kind: "hidden", what: "$[ … ]" };
      return !node.expression && kSubstitution.test(node.text.slice(3)) ? kArithmetic : undefined;
    case "CommandExpansion":
    case "ProcessSubstitution":
    case "ArithmeticCommandExpansion":
      return node.script ? undefined : unreadable("This substitution can't be read.");
    case "ParameterExpansion":
      if (hides(node.index?.text)) return kHidden;
      return node.prefix === "!" ? dialect(`\${!name}`) : undefined;
    case "Slice":
      if (hides(node.offset.text) || hides(node.length?.text)) return kHidden;
      return dialect(`\${name:offset}`);
    case "Transform":
      if (/[^QEAaKkULu]/.test(node.operand.text)) {
        return unreadable("This expansion runs what a variable holds.");
      }
      return dialect(`\${name@operator}`);
    case "Replace":
    case "CaseModification":
    case "Names":
      return dialect(`\${name${node.operator}…}`);
    case "Unknown":
      return unreadable("This expansion can't be read.");
    case "HereDoc":
      return node.closing ? undefined : unreadable("This here-document has no end.");
    case "AnsiCQuoted":
      return node.text.includes("\\'") ? { kind: "hidden", what: "$'…\\'…'" } : undefined;
    case "LocaleString":
      return dialect('$"…"');
    default:
      return undefined;
  }
}
