/**
 * Judges one command by one policy: takes what the walk of its script tells, looks at each call it
 * would make, and follows what those run. The block list decides before the allow list, wherever in
 * the command they find something. One use each; pure but for its own findings.
 */

import { type Assignment, type Command, parse, type Redirection, type Word } from "unbash";
import {
  assignmentWords,
  basename,
  type Effect,
  type ShellCall,
  type ShellRedirect,
  shellRedirect,
} from "./call.js";
import { carrierOf } from "./carriers/index.js";
import { isAllowed } from "./command-name.js";
import { beyondLimits, kMaxDepth, kMost } from "./limits.js";
import { normalized, resolved } from "./path.js";
import type { ShellSettings } from "./policy.js";
import { kCredentialReason, namesCredential } from "./rules/credential-path.js";
import { isDevice } from "./rules/disk-write.js";
import { rulesOf } from "./rules/index.js";
import { kNetworkFile, kNetworkPrograms } from "./rules/reverse-shell.js";
import { kKernelFile } from "./rules/system.js";
import type { SyntaxHazard } from "./syntax.js";
import { commandNames, printed } from "./upstream.js";
import { variableCode, variableFinding } from "./variable.js";
import type { ShellAllowlistRule, ShellFinding, ShellVerdict } from "./verdict.js";
import { kTopPlace, type Place, type ScriptVisitor, walk } from "./walk.js";
import { printable, type ShellWord, shellWords } from "./word.js";

type Rule = ShellFinding["rule"];

const kAllowlistRules: ReadonlySet<Rule> = new Set<ShellAllowlistRule>([
  "not-on-allowlist",
  "shell-state",
  "search-path",
  "shell-dialect",
  "unknown-option",
  "unread-script",
]);
/** Their words are text for people, in which a path is no more than its name. */
const kSpeech = new Set(["echo", "printf", "git", "gh"]);

export class Inspector implements ScriptVisitor {
  readonly #settings: ShellSettings;
  readonly #minded: ShellFinding[] = [];
  readonly #names = new Set<string>();
  #blocked: ShellFinding | undefined;
  #directory: string | undefined;
  #calls = 0;
  #words = 0;
  #characters = 0;
  #nesting = 0;

  constructor(settings: ShellSettings) {
    this.#settings = settings;
  }

  get going(): boolean {
    return this.#blocked === undefined;
  }

  verdict(): ShellVerdict {
    const refused = this.#settings.mode === "strict" ? this.#minded[0] : undefined;
    const blocked = this.#blocked ?? refused;
    const warnings = this.#settings.mode === "warn" ? this.#minded : [];
    return blocked === undefined
      ? { allowed: true, warnings }
      : { allowed: false, warnings, blocked };
  }

  /** Reads a text as the shell would; `place` is where a string that a command runs stands. */
  script(text: string, place: Place = kTopPlace): void {
    const beyond = beyondLimits(text);
    if (beyond) {
      this.#found(
        beyond.rule,
        beyond.reason,
        undefined,
        place.fixed ? place.fixed.position : beyond.position,
      );
      return;
    }
    this.#characters += text.length;
    if (this.#characters > kMost.characters) this.tooDeep();
    try {
      walk(parse(text), place, this, this.#nesting);
    } catch (error) {
      // The parser's own recursion may end before its limits do; anything else is our mistake.
      if (!(error instanceof RangeError)) throw error;
      this.tooDeep();
    }
    if (place === kTopPlace) this.#together();
  }

  hazard({ kind, what }: SyntaxHazard, position: number, place: Place): void {
    const where = at(position, place);
    if (kind === "unreadable") {
      this.#found("unreadable-syntax", what, undefined, where);
    } else if (this.#settings.shell !== "bash") {
      const reason = `Only bash reads ${what} this way; another sh may run something else.`;
      this.#found(
        kind === "hidden" ? "unreadable-syntax" : "shell-dialect",
        reason,
        undefined,
        where,
      );
    }
  }

  tooDeep(): void {
    this.#found("too-deep", "The command is nested too deeply.", undefined, undefined);
  }

  variable(name: string, position: number, place: Place): void {
    this.#variable(name, { text: "", literal: false, raw: name, position: at(position, place) });
  }

  values(words: readonly Word[], place: Place): ShellWord[] {
    const values = words.flatMap((word) => this.#resolved(word, place));
    for (const value of values) this.#credential(value, "");
    return values;
  }

  assignment(node: Assignment, place: Place): void {
    const position = at(node.pos, place);
    const words = node.value.type === "Word" ? [node.value] : node.value.elements;
    const values = this.values(words, place);
    const hidden = values.find(
      ({ literal, text }) => literal && /\w\[[^\]]*(?:\$[({]|`)/.test(text),
    );
    if (hidden)
      this.#found("dynamic-code", "Arithmetic would run the substitution in this value.", hidden);
    const [first] = values;
    const value = first ?? { text: "", literal: true, raw: "", position };
    this.#variable(node.name, values.length > 1 ? { ...value, literal: false } : value, place);
  }

  redirections(nodes: readonly Redirection[], place: Place): void {
    this.#redirects(nodes.flatMap((node) => shellRedirect(node, (own) => at(own, place)) ?? []));
  }

  command(node: Command, place: Place): void {
    const redirects = node.redirects.flatMap(
      (each) => shellRedirect(each, (own) => at(own, place)) ?? [],
    );
    const words = node.name ? this.#resolved(node.name, place) : [];
    for (const argument of node.args) {
      if (argument.type === "Word") words.push(...this.#resolved(argument, place));
      else words.push(...assignmentWords(argument, at(argument.pos, place)));
    }
    this.#redirects(redirects);
    if (words.length === 0) {
      if (node.name)
        this.#found(
          "dynamic-command",
          "This command word is empty.",
          undefined,
          at(node.pos, place),
        );
      return;
    }
    const [name] = words;
    // `time -f x ls` is the program time for every shell but bash.
    const timed = place.timed && name?.text.startsWith("-");
    const call = timed
      ? [{ text: "time", literal: true, raw: "time", position: name?.position }, ...words]
      : words;
    this.#recursion(call, place);
    this.#call(call, redirects, place);
  }

  #resolved(word: Word, place: Place): ShellWord[] {
    if (!this.going) return [];
    const words = shellWords(word, at(word.pos, place));
    this.#words += words.length;
    if (this.#words > kMost.words) this.tooDeep();
    return words;
  }

  #call(words: readonly ShellWord[], redirects: readonly ShellRedirect[], place: Place): void {
    const [word] = words;
    if (word === undefined || !this.going) return;
    if (this.#nesting > kMaxDepth || ++this.#calls > kMost.calls) {
      this.tooDeep();
      return;
    }
    if (!word.literal || /^!/.test(word.text)) {
      this.#found(
        "dynamic-command",
        "Which command this word names is only known as it runs.",
        word,
      );
      return;
    }
    const name = basename(word.text);
    this.#names.add(name);
    const call: ShellCall = {
      name,
      words,
      redirects,
      upstream: () => place.upstream.flatMap(commandNames),
      piped: () => printed(place.upstream.at(-1), word.position),
      directory: this.#directory,
    };
    this.#blockList(call);
    const effects = carrierOf(name)?.(call) ?? [];
    this.#nesting++;
    for (const effect of effects) this.#effect(effect, call, place);
    this.#nesting--;
    if (this.#settings.mode !== "off" && !isAllowed(word.text, this.#settings.allowlist)) {
      this.#found("not-on-allowlist", "This command is not on the allow list.", word);
    }
    if (name === "cd" || name === "pushd") this.#enter(words);
  }

  #blockList(call: ShellCall): void {
    const [word] = call.words;
    const { blocklist } = this.#settings;
    if (
      word &&
      blocklist.length > 0 &&
      (blocklist.includes(call.name) || blocklist.includes(word.text))
    ) {
      this.#found("blocklist", "This command is on the block list.", word);
    }
    for (const rule of rulesOf(call.name)) {
      const found = rule.find(call);
      if (found) this.#found(rule.name, rule.reason, found);
    }
    for (const each of call.words) {
      if (each.text.includes("/dev/") && kNetworkFile.test(each.text) && !kSpeech.has(call.name)) {
        this.#found("reverse-shell", "This opens a connection from the shell.", each);
      }
      this.#credential(each, call.name);
    }
  }

  #effect(effect: Effect, call: ShellCall, place: Place): void {
    if (!this.going) return;
    switch (effect.kind) {
      case "call":
        this.#call(effect.words, call.redirects, place);
        return;
      case "code":
        this.#code(effect.word, place);
        return;
      case "variable":
        this.#variable(effect.name, effect.value, place);
        return;
      case "finding":
        this.#found(effect.rule, effect.reason, effect.word);
    }
  }

  #code(word: ShellWord, place: Place): void {
    if (word.literal) {
      const { functions } = place;
      this.script(word.text, { ...kTopPlace, functions, fixed: { position: word.position } });
    } else if (/\b(?:base(?:64|32)|xxd|openssl)\b/.test(word.raw)) {
      this.#found("decoded-execution", "This decodes data and runs it.", word);
    } else {
      this.#found(
        "dynamic-code",
        "This string is run as shell code, and is only known as it runs.",
        word,
      );
    }
  }

  #variable(name: string, value: ShellWord, place: Place = kTopPlace): void {
    const finding = variableFinding(name, value);
    if (finding) this.#found(finding.rule, finding.reason, { ...value, text: name });
    for (const effect of variableCode(name, value)) {
      if (effect.kind === "code") this.#code(effect.word, place);
      else if (effect.kind === "finding") this.#found(effect.rule, effect.reason, effect.word);
    }
  }

  #credential(word: ShellWord, command: string): void {
    if (kSpeech.has(command) && /\s/.test(word.text)) return;
    if (namesCredential(word, this.#directory))
      this.#found("credential-path", kCredentialReason, word);
  }

  #redirects(redirects: readonly ShellRedirect[]): void {
    for (const { operator, target } of redirects) {
      if (operator.startsWith("<<")) continue;
      if (kNetworkFile.test(target.text)) {
        this.#found("reverse-shell", "This opens a connection from the shell.", target);
      }
      if (operator !== "<") {
        if (isDevice(target)) this.#found("disk-write", "This writes to a disk directly.", target);
        if (kKernelFile.test(normalized(target.text))) {
          this.#found("system-control", "This changes the running kernel.", target);
        }
      }
      this.#credential(target, "");
    }
  }

  /** A function that starts itself more than once never ends and fills the process table. */
  #recursion([word]: readonly ShellWord[], place: Place): void {
    if (word && place.concurrent && place.functions.includes(word.text)) {
      this.#found("fork-bomb", "This function starts itself again and again.", word);
    }
  }

  #together(): void {
    if (!this.#names.has("mkfifo") && !this.#names.has("mknod")) return;
    if ([...this.#names].some((name) => kNetworkPrograms.has(name))) {
      this.#found(
        "reverse-shell",
        "A named pipe and a connection make a reverse shell.",
        undefined,
      );
    }
  }

  #enter(words: readonly ShellWord[]): void {
    const target = words.slice(1).find(({ text }) => !/^-[LPe@]+$|^--$/.test(text));
    if (target === undefined) this.#directory = "~";
    else
      this.#directory =
        target.literal || target.text === "~" ? resolved(target.text, this.#directory) : undefined;
  }

  #found(rule: Rule, reason: string, word: ShellWord | undefined, position?: number): void {
    if (!this.going || this.#settings.disabled.includes(rule)) return;
    const finding: ShellFinding = { rule, reason };
    if (word) finding.command = printable(word);
    const where = word?.position ?? position;
    if (where !== undefined) finding.position = where;
    if (!kAllowlistRules.has(rule)) this.#blocked = finding;
    else if (!this.#minded.some((each) => each.rule === rule && each.command === finding.command)) {
      this.#minded.push(finding);
    }
  }
}

function at(position: number, { fixed }: Place): number | undefined {
  return fixed ? fixed.position : position;
}
