/**
 * The text that the parts of a word expand to. Without values of variables, an expansion is a mark; with them,
 * it is the value, split into fields like the shell does it. Marks are Unicode noncharacters, which budget.ts
 * excludes from commands.
 */

import type { ParameterExpansionPart, ParsedScript, Word, WordPart } from "unbash";

import { printedText } from "./printed.js";

/** Position of an expansion's value. */
export const kExpansion = "\ufdd0";
/** Position where a glob matches any text. */
export const kAnyText = "\ufdd1";
/** Position where a glob matches one character. */
export const kAnyCharacter = "\ufdd2";

/** Position between two elements of an array, or two arguments, in the value of `@` and `*`. */
export const kElement = "\ufdd3";

/** A text that a word or a variable has; `literal`: it is exact, without marks. */
export type Value = { readonly text: string; readonly literal: boolean };

/** The values that variables have in one reading of a command. */
export type Bindings = {
  /** Undefined if the command line does not set the variable; `a[0]`, `a[@]` and `1` are names too. */
  value(name: string): Value | undefined;
  /** The characters between fields (IFS). */
  readonly separators: string;
  /** Notes that a reading without values would differ. */
  differs(): void;
};

const kHome = /^\$(?:HOME|\{HOME\})$/;
const kDefaultSeparators = " \t\n";
/** A longer value is neither cut nor replaced in. */
const kMostText = 256;
/** Longer words are not pieced together. */
const kMostWord = 16 * 1024;

/** Returns the fields that the parts become: exactly one without bindings. */
export function fieldsOf(parts: readonly WordPart[], bindings?: Bindings): Value[] {
  const fields = new Fields(bindings);
  fields.add(parts, false);
  return fields.end();
}

/** Returns the text of a word that is neither split nor a glob, such as the value of an assignment. */
export function unsplit(word: Word, bindings?: Bindings): Value {
  if (word.parts === undefined) return { text: word.value, literal: true };
  const fields = new Fields(bindings, false);
  fields.add(word.parts, true);
  return fields.end()[0] ?? { text: "", literal: true };
}

/** Collects the fields of one word from left to right. */
class Fields {
  readonly #bindings: Bindings | undefined;
  /** True if expansions are split into fields, and globs are such. */
  readonly #splits: boolean;
  readonly #done: Value[] = [];
  #text = "";
  #literal = true;
  /** True if there is a field, which may be empty. */
  #open: boolean;

  constructor(bindings: Bindings | undefined, splits = true) {
    this.#bindings = bindings;
    this.#splits = splits;
    this.#open = bindings === undefined;
  }

  end(): Value[] {
    this.#close();
    return this.#done;
  }

  add(parts: readonly WordPart[], quoted: boolean): void {
    for (const [index, part] of parts.entries()) this.#part(part, quoted, parts[index + 1]);
  }

  #part(part: WordPart, quoted: boolean, next: WordPart | undefined): void {
    switch (part.type) {
      case "Literal":
      case "SingleQuoted":
      case "AnsiCQuoted":
        this.#append(part.value, true);
        return;
      case "LocaleString":
        this.#append("", false);
        this.add(part.parts, true);
        return;
      case "DoubleQuoted":
        this.#append("", true);
        this.add(part.parts, true);
        return;
      case "Glob":
        if (!this.#splits) this.#append(part.value, true);
        else this.#append(part.kind === "star" ? kAnyText : kAnyCharacter, false);
        return;
      case "ExtendedGlob":
      case "BraceExpansion":
        this.#append(kAnyText, false);
        return;
      case "SimpleExpansion":
        if (kHome.test(part.text)) this.#append("~", false);
        else this.#expansion(this.#variable(part.text.slice(1), next), quoted, part.text === "$*");
        return;
      case "ParameterExpansion":
        this.#parameter(part, quoted, next);
        return;
      case "CommandExpansion":
        this.#expansion(this.#bindings && outputOf(part.script, this.#bindings), quoted);
        return;
      default:
        this.#append(kExpansion, false);
    }
  }

  #parameter(part: ParameterExpansionPart, quoted: boolean, next: WordPart | undefined): void {
    const { operation } = part;
    const known = this.#bindings && parameterValue(part, this.#bindings);
    if (known) {
      this.#expansion(known, quoted, part.parameter === "*" || part.index?.value === "*");
    } else if (operation?.type === "Default") {
      const value = unsplit(operation.operand, this.#bindings);
      if (this.#bindings && !operation.operator.endsWith("+")) {
        this.#bindings.differs();
        this.#expansion(value, quoted);
      } else {
        this.#append(kExpansion + value.text, false);
      }
    } else if (kHome.test(part.text)) {
      this.#append("~", false);
    } else {
      const plain = operation === undefined && part.prefix === undefined;
      this.#expansion(plain ? this.#variable("", next) : undefined, quoted);
    }
  }

  /** A variable between two letters that the line does not set is taken for empty: `re${x}boot`. */
  #variable(name: string, next: WordPart | undefined): Value | undefined {
    const value = name === "" ? undefined : this.#bindings?.value(name);
    if (value || !this.#bindings) return value;
    if (!/\w$/.test(this.#text) || next?.type !== "Literal" || !/^\w/.test(next.value)) {
      return undefined;
    }
    this.#bindings.differs();
    return { text: "", literal: true };
  }

  /** Adds the value of an expansion; `joined`: its elements are one field if it is quoted. */
  #expansion(value: Value | undefined, quoted: boolean, joined = false): void {
    if (value === undefined) {
      this.#append(kExpansion, false);
      return;
    }
    const { separators = kDefaultSeparators } = this.#bindings ?? {};
    if (quoted) {
      for (const [index, text] of value.text.split(kElement).entries()) {
        if (index > 0 && joined) this.#append(separators.slice(0, 1), true);
        else if (index > 0 && this.#splits) this.#close();
        else if (index > 0) this.#append(" ", true);
        this.#append(text, value.literal);
      }
      return;
    }
    let piece = "";
    const flush = () => {
      if (piece === "") return;
      const glob = piece.replace(/\*+/g, kAnyText).replace(/\?|\[[^\]]+\]/g, kAnyCharacter);
      this.#append(glob, value.literal && glob === piece);
      piece = "";
    };
    for (const character of value.text) {
      if (character !== kElement && !separators.includes(character)) {
        piece += character;
      } else {
        flush();
        this.#close();
      }
    }
    flush();
  }

  #append(text: string, literal: boolean): void {
    if (this.#bindings && this.#text.length + text.length > kMostWord) {
      this.#literal = false;
      return;
    }
    this.#text += text;
    this.#literal &&= literal;
    this.#open = true;
  }

  #close(): void {
    if (this.#open) this.#done.push({ text: this.#text, literal: this.#literal });
    this.#text = "";
    this.#literal = true;
    this.#open = false;
  }
}

/** Returns the output of `$(echo …)` and `$(printf …)` alone; undefined for any other command. */
function outputOf(script: ParsedScript | undefined, bindings: Bindings): Value | undefined {
  const [statement, other] = script?.commands ?? [];
  const command = statement?.command;
  if (other || command?.type !== "Command" || command.redirects.length > 0) return undefined;
  if (!command.name || !/^(?:echo|printf)$/.test(command.name.text)) return undefined;
  const words = command.args.flatMap((word) => {
    if (word.type !== "Word") return [];
    return word.parts ? fieldsOf(word.parts, bindings) : [unsplit(word)];
  });
  const output = printedText([unsplit(command.name), ...words]);
  if (output) bindings.differs();
  return output && { ...output, text: output.text.replace(/\n+$/, "") };
}

/** Returns the value of `${…}` with its operation; undefined if it can't be determined. */
function parameterValue(part: ParameterExpansionPart, bindings: Bindings): Value | undefined {
  const { parameter, index, prefix, operation } = part;
  if (prefix === "#") return undefined;
  const key = index && (bindings.value(index.value.replace(/^\$/, ""))?.text ?? index.value);
  const named = bindings.value(index ? `${parameter}[${key}]` : parameter);
  const value = prefix === "!" && named ? bindings.value(named.text) : named;
  if (value === undefined || operation === undefined) return value;
  const elements = value.text.split(kElement);
  if (operation.type === "Slice" && (parameter === "@" || index?.value === "@")) {
    const from = Number(operation.offset.value) - (parameter === "@" ? 1 : 0);
    return { ...value, text: elements.slice(Math.max(0, from)).join(kElement) };
  }
  const texts = elements.map((each) => operated(each, operation, bindings));
  if (texts.includes(undefined)) return undefined;
  return { text: texts.join(kElement), literal: value.literal };
}

type Operation = NonNullable<ParameterExpansionPart["operation"]>;

function operated(text: string, operation: Operation, bindings: Bindings): string | undefined {
  if (operation.type === "Default") {
    if (operation.operator.endsWith("+")) return unsplit(operation.operand, bindings).text;
    const unset = text === "" && operation.operator.startsWith(":");
    return unset ? unsplit(operation.operand, bindings).text : text;
  }
  if (text.length > kMostText) return undefined;
  switch (operation.type) {
    case "Slice": {
      const offset = Number(operation.offset.value);
      const length = operation.length === undefined ? text.length : Number(operation.length.value);
      if (!Number.isInteger(offset) || !Number.isInteger(length)) return undefined;
      const rest = text.slice(offset);
      return rest.slice(0, length);
    }
    case "CaseModification": {
      const change = (part: string) =>
        operation.operator.startsWith("^") ? part.toUpperCase() : part.toLowerCase();
      return operation.operator.length > 1
        ? change(text)
        : change(text.slice(0, 1)) + text.slice(1);
    }
    case "Remove": {
      const { text: pattern } = fieldsOf(operation.operand.parts ?? [])[0] ?? { text: "" };
      return removed(text, operation.operand.parts ? pattern : operation.operand.value, operation);
    }
    case "Replace": {
      const from = unsplit(operation.pattern, bindings);
      const to = unsplit(operation.replacement, bindings).text;
      if (!from.literal || from.text === "") return undefined;
      if (operation.operator === "//") return text.replaceAll(from.text, () => to);
      if (operation.operator === "/") return text.replace(from.text, () => to);
      if (operation.operator === "/#")
        return text.startsWith(from.text) ? to + text.slice(from.text.length) : text;
      return text.endsWith(from.text) ? text.slice(0, -from.text.length) + to : text;
    }
    case "Transform":
      if (operation.operand.text === "U") return text.toUpperCase();
      return operation.operand.text === "L" ? text.toLowerCase() : text;
    default:
      return undefined;
  }
}

/** Removes a prefix or a suffix; the pattern is literal text with at most one `*`, at one of its ends. */
function removed(
  text: string,
  pattern: string,
  { operator }: { readonly operator: string },
): string | undefined {
  const fixed = pattern.replace(/^\ufdd1|\ufdd1$/, "");
  if (fixed === "" || /[\ufdd0-\ufdd2]/.test(fixed)) return undefined;
  const front = operator.startsWith("#");
  const open = fixed !== pattern && pattern.startsWith(kAnyText) === front;
  const longest = operator.length > 1;
  if (fixed !== pattern && !open) return longest ? "" : text.replace(fixed, "");
  if (!open) {
    if (front) return text.startsWith(fixed) ? text.slice(fixed.length) : text;
    return text.endsWith(fixed) ? text.slice(0, -fixed.length) : text;
  }
  const at = front === longest ? text.lastIndexOf(fixed) : text.indexOf(fixed);
  if (at < 0) return text;
  return front ? text.slice(at + fixed.length) : text.slice(0, at);
}
