import {
  type Assignment,
  type Command,
  parse,
  type Redirection,
  type SyntaxNode,
  type Word,
} from "unbash";

import { invalidType } from "../errors.js";
import { Budget, beyondLimits, kCallSteps, kGlobSteps, kParseSteps, kWordSteps } from "./budget.js";
import {
  assignmentWords,
  type Effect,
  type ShellCall,
  type ShellRedirect,
  shellRedirect,
} from "./call.js";
import { positional } from "./command-wrappers/effects.js";
import { commandWrapperOf } from "./command-wrappers/known-commands.js";
import { Findings, Judge } from "./judge.js";
import { basename, WorkingDirectory } from "./path.js";
import {
  type ShellPolicy,
  type ShellSettings,
  type ShellVerdict,
  shellSettings,
} from "./policy.js";
import { namesPrograms, variableCode } from "./rules/variables.js";
import { unsplit } from "./script/expansion.js";
import { arithmeticTexts, hidesSubscript, type SyntaxHazard } from "./script/syntax.js";
import { ValueReader } from "./script/variables.js";
import {
  hereTexts,
  kTopPlace,
  type Place,
  positionIn,
  type ScriptVisitor,
  walk,
} from "./script/walk.js";
import { type ShellWord, shellWords } from "./script/word.js";

/**
 * Applies the shell lists to a command line: first the block list, then the allow list in the mode that the
 * policy sets. Parses the line with a shell parser, follows command wrappers (`env`, `sudo`, `sh -c` …), and
 * refuses text that it can't read. Pure and synchronous; nothing is run or looked up.
 *
 * The lists are advisory. They catch mistakes and plain attempts with a reason the author can act on; a
 * program on the allow list can still do anything that the sandbox allows. The sandbox is the security
 * boundary.
 *
 * @throws TypeError for an invalid value in `command` or `policy`.
 */
export function checkShellCommand(command: string, policy: ShellPolicy = {}): ShellVerdict {
  if (typeof command !== "string") throw invalidType("command", "a string", command);
  const inspector = new Inspector(shellSettings(policy));
  inspector.script(command);
  return inspector.verdict();
}

/**
 * Follows one command through everything that it would run: converts the events of the script walk into
 * calls, has each judged, and continues with the effects that command wrappers find. Used once; its findings
 * go to `Findings`.
 */

class Inspector implements ScriptVisitor {
  readonly #settings: ShellSettings;
  readonly #findings: Findings;
  readonly #judge: Judge;
  readonly #budget = new Budget();
  readonly #directory = new WorkingDirectory();
  readonly #values = new ValueReader(() => this.going, this.#directory);
  /** Functions that the line defines. */
  readonly #functions = new Set<string>();
  /** Strings that were read as code, with the version of the variables at that time. */
  readonly #code = new Map<string, number>();

  constructor(settings: ShellSettings) {
    this.#settings = settings;
    this.#findings = new Findings(settings);
    this.#judge = new Judge(settings, this.#findings);
  }

  get going(): boolean {
    return !this.#findings.decided;
  }

  verdict(): ShellVerdict {
    this.#affordable();
    return this.#findings.verdict();
  }

  /** Reads a text like the shell; `place` is the position of a string that a command runs. */
  script(text: string, place: Place = kTopPlace): void {
    const beyond = beyondLimits(text);
    if (beyond) {
      const position = place.fixed ? place.fixed.position : beyond.position;
      this.#findings.add(beyond.rule, beyond.reason, undefined, position);
      return;
    }
    if (!this.spend(kParseSteps * text.length)) return;
    try {
      walk(parse(text), place, this, this.#budget.nesting);
    } catch (error) {
      // The parser's own recursion may overflow before its limits apply; any other error is a bug.
      if (!(error instanceof RangeError)) throw error;
      this.tooDeep();
    }
    if (place !== kTopPlace) return;
    this.#values.readLater();
    this.#judge.together();
  }

  hazard({ kind, what }: SyntaxHazard, position: number, place: Place): void {
    const where = positionIn(place, position);
    if (kind === "unreadable") {
      this.#findings.add("unreadable-syntax", what, undefined, where);
    } else if (this.#settings.shell !== "bash") {
      const reason = `Only bash reads ${what} this way; another sh may run something else.`;
      const rule = kind === "hidden" ? "unreadable-syntax" : "shell-dialect";
      this.#findings.add(rule, reason, undefined, where);
    }
  }

  tooDeep(): void {
    this.#findings.add("too-deep", "The command is nested too deeply.");
  }

  spend(steps: number): boolean {
    this.#budget.spend(steps);
    return this.#affordable();
  }

  arithmetic(node: SyntaxNode, place: Place): void {
    this.#judge.arithmetic.read();
    const texts = arithmeticTexts(node).filter((text) => text.includes("$"));
    if (texts.length > 0)
      this.#values.read(place.certain, () => this.#arithmetic(texts, node, place));
  }

  defines(name: string): void {
    this.#functions.add(name);
  }

  variable(name: string, position: number, place: Place, value?: Word): void {
    const unknown = { text: "", literal: false, raw: name, position: positionIn(place, position) };
    this.#variable(name, unknown);
    if (value) this.#values.read(place.certain, () => this.#assign(name, [value], place));
  }

  values(words: readonly Word[], place: Place, variable: string): void {
    this.#values.read(place.certain, () => {
      for (const value of this.#valuesOf(words, place)) this.#values.record(variable, value);
    });
  }

  assignment(node: Assignment, place: Place): void {
    const { name, value } = node;
    this.#values.read(place.certain, () => {
      const words = value.type === "Word" ? [value] : value.elements;
      this.#assign(name, words, place, node);
    });
  }

  redirections(nodes: readonly Redirection[], place: Place): void {
    this.#values.read(place.certain, () => this.#redirects(nodes, place));
  }

  command(node: Command, place: Place): void {
    this.#values.read(place.certain, () => this.#command(node, place));
  }

  #arithmetic(texts: readonly string[], node: SyntaxNode, place: Place): void {
    for (const text of texts) {
      const filled = this.#values.filled(text);
      if (filled === undefined || !this.spend(kWordSteps + filled.length)) return;
      if (!this.#values.same && hidesSubscript(filled)) {
        const reason = "Arithmetic would run the substitution in the value of a variable.";
        this.#findings.add("dynamic-code", reason, undefined, positionIn(place, node.pos));
      }
    }
  }

  #valuesOf(words: readonly Word[], place: Place): ShellWord[] {
    const values = words.flatMap((word) => this.#resolved(word, place));
    if (this.#values.same || !this.spend(this.#stepsOf(values))) return [];
    for (const value of values) {
      this.#judge.arithmetic.value(value);
      this.#judge.value(value, this.#directory.path);
    }
    return values;
  }

  /** Judges and records an assignment; without `node`, that of a default value. */
  #assign(name: string, words: readonly Word[], place: Place, node?: Assignment): void {
    const array = node !== undefined && node.value.type !== "Word";
    const [word] = words;
    const position = word && positionIn(place, word.pos);
    const { readings } = this.#values;
    const exact = word && !array && (readings !== undefined || word.text.includes("["));
    // The value of an assignment is neither split nor a glob.
    const value = exact
      ? this.#unsplit(word, position, node?.append ? name : undefined)
      : undefined;
    const values = readings && value ? [value] : this.#valuesOf(words, place);
    if (this.#values.same || !this.going) return;
    if (readings && value) this.#judge.value(value, this.#directory.path);
    if (node?.append && !array) this.#values.notice();
    const hidden = [...values, ...(value ? [value] : [])].find(
      ({ literal, text }) => literal && hidesSubscript(text),
    );
    if (hidden) {
      const reason = "Arithmetic would run the substitution in this value.";
      this.#findings.add("dynamic-code", reason, hidden);
    }
    const [first = { text: "", literal: true, raw: "", position }] = values;
    if (values.length < 2 || namesPrograms(name)) {
      for (const each of values) this.#variable(name, each, place);
    }
    const none = values.length === 0;
    if (values.length !== 1) this.#variable(name, { ...first, literal: none }, place);
    if (node?.index) this.#values.recordElement(name, node.index.value, first);
    else if (array) this.#values.recordArray(name, values, node.append === true);
  }

  /** Returns the value of an assignment, after that of the variable `before`. */
  #unsplit(word: Word, position: number | undefined, before: string | undefined): ShellWord {
    const { readings } = this.#values;
    const { text, literal } = unsplit(word, readings);
    const front = before === undefined ? "" : (readings?.value(before)?.text ?? "");
    const value = { text: front + text, literal, raw: word.text, position };
    this.spend(this.#stepsOf([value]));
    return value;
  }

  #command(node: Command, place: Place): void {
    const words = node.name ? this.#resolved(node.name, place) : [];
    for (const argument of node.args) {
      if (argument.type === "Word") words.push(...this.#resolved(argument, place));
      else {
        const assigned = assignmentWords(argument, place, this.#budget, this.#values.readings);
        this.#values.notice(assigned);
        words.push(...assigned);
      }
    }
    const redirects = this.#redirects(node.redirects, place);
    const fed = place.upstream !== undefined || place.input.length > 0;
    if (this.#values.same && !fed) return;
    const [name] = words;
    if (name === undefined) {
      if (node.name) {
        const reason = "This command word is empty.";
        this.#findings.add("dynamic-command", reason, undefined, positionIn(place, node.pos));
      }
      return;
    }
    // `time -f x ls` is the program time for every shell except bash.
    const timed = place.timed && name.text.startsWith("-");
    const time = { text: "time", literal: true, raw: "time", position: name.position };
    const call = timed ? [time, ...words] : words;
    this.#recursion(call, place);
    this.#call(call, redirects, place);
  }

  /** False once the budget is spent, which refuses the command. */
  #affordable(): boolean {
    if (this.#budget.spent) {
      this.#findings.add("too-deep", "To check this command takes more work than is allowed.");
    }
    return this.going;
  }

  #stepsOf(words: readonly ShellWord[]): number {
    if (words.length === 0) return 0;
    const each = kWordSteps + (this.#directory.path?.length ?? 0);
    return words.reduce(
      (steps, { text, literal }) => steps + each + text.length * (literal ? 1 : kGlobSteps),
      kCallSteps,
    );
  }

  #resolved(word: Word, place: Place): ShellWord[] {
    if (!this.going) return [];
    const position = positionIn(place, word.pos);
    const words = shellWords(word, position, this.#budget, this.#values.readings);
    this.#values.notice(words);
    return this.#affordable() ? words : [];
  }

  #redirects(nodes: readonly Redirection[], place: Place): ShellRedirect[] {
    const redirects = nodes.flatMap(
      (node) => shellRedirect(node, place, this.#budget, this.#values.readings) ?? [],
    );
    this.#values.notice(redirects.map(({ target }) => target));
    if (!this.spend(this.#stepsOf(redirects.map(({ target }) => target)))) return [];
    if (!this.#values.same) this.#judge.redirects(redirects, this.#directory.path);
    return redirects;
  }

  #call(words: readonly ShellWord[], redirects: readonly ShellRedirect[], place: Place): void {
    const [word] = words;
    if (word === undefined || !this.going) return;
    if (this.#budget.tooDeep) {
      this.tooDeep();
      return;
    }
    if (!this.spend(this.#stepsOf(words))) return;
    if (!word.literal || /^[!^]/.test(word.text)) {
      const reason = "Which command this word names is only known as it runs.";
      this.#findings.add("dynamic-command", reason, word);
      return;
    }
    const name = basename(word.text);
    const readings = this.#values.readings;
    const call: ShellCall = {
      name,
      words,
      redirects,
      upstream: () => place.upstream?.names(this.#budget) ?? [],
      piped: () => {
        const { upstream, input } = place;
        const texts = upstream
          ? upstream.printed(word.position, this.#budget, readings)
          : hereTexts(input, word.position, this.#budget, readings);
        this.#values.notice(texts);
        return texts;
      },
      directory: this.#directory.path,
    };
    this.#judge.call(call);
    const wrapper = commandWrapperOf(name);
    if (wrapper === undefined) this.#judge.unknown(call);
    const effects = wrapper?.(call) ?? [];
    if (!this.#affordable()) return;
    this.#budget.nested(() => {
      for (const effect of effects) this.#effect(effect, call, place);
    });
    this.#judge.name(word);
    if (this.#functions.has(word.text)) {
      for (const effect of positional(words.slice(1))) this.#effect(effect, call, place);
    }
    if (name !== "cd" && name !== "pushd") return;
    if (readings === undefined || (place.certain && readings.single)) this.#directory.enter(words);
  }

  #effect(effect: Effect, call: ShellCall, place: Place): void {
    if (!this.going) return;
    switch (effect.kind) {
      case "call":
        this.#call(effect.words, call.redirects, place);
        return;
      case "perhaps":
        this.#perhaps(effect.words, effect.certain, call, place);
        return;
      case "code":
        this.#string(effect.word, place);
        return;
      case "variable":
        this.#variable(effect.name, effect.value, place);
        return;
      case "reference":
        this.#values.variables.refer(effect.name, effect.target);
        return;
      case "finding":
        this.#findings.add(effect.rule, effect.reason, effect.word);
    }
  }

  #perhaps(words: readonly ShellWord[], certain: boolean, call: ShellCall, place: Place): void {
    const found = this.#judge.commandAmong([...call.words.slice(0, 1), ...words]);
    if (found) {
      const [, ...after] = words.slice(found.index - 1);
      this.#call([found.word, ...after], call.redirects, place);
      return;
    }
    const operand = certain ? words.find(({ text }) => !text.startsWith("-")) : undefined;
    const reason = "This check can't tell which command the program runs.";
    if (operand) this.#findings.add("unknown-option", reason, operand);
  }

  #string(word: ShellWord, place: Place): void {
    if (word.literal) {
      const { functions } = place;
      const { version } = this.#values.variables;
      // Another reading of the command that runs it has the same string.
      if (this.#values.readings && this.#code.get(word.text) === version) return;
      this.#code.set(word.text, version);
      const fixed = { position: word.position };
      this.script(word.text, { ...kTopPlace, functions, fixed, certain: false });
    } else if (/\b(?:base(?:64|32)|xxd|openssl)\b/.test(word.raw)) {
      this.#findings.add("decoded-execution", "This decodes data and runs it.", word);
    } else {
      const reason = "This string is run as shell code, and is only known as it runs.";
      this.#findings.add("dynamic-code", reason, word);
    }
  }

  #variable(name: string, value: ShellWord, place: Place = kTopPlace): void {
    this.#judge.variable(name, value);
    this.#judge.arithmetic.value(value);
    this.#values.record(name, value);
    const target = this.#values.variables.target(name);
    const named = value.text.startsWith(target); // the declaration of the name itself
    if (target !== name && !named && !this.#values.sets(target))
      this.#variable(target, value, place);
    for (const effect of variableCode(name, value)) {
      if (effect.kind === "code") this.#string(effect.word, place);
      else if (effect.kind === "finding") {
        this.#findings.add(effect.rule, effect.reason, effect.word);
      }
    }
  }

  /** A function that starts itself more than once never ends and fills the process table. */
  #recursion([word]: readonly ShellWord[], place: Place): void {
    if (word && place.concurrent && place.functions.includes(word.text)) {
      this.#findings.add("fork-bomb", "This function starts itself again and again.", word);
    }
  }
}
