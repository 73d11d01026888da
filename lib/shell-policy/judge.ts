/** Applies the lists to one call, redirect, value or variable, which the walk supplies. */

import type { ShellCall, ShellRedirect } from "./call.js";
import { commandWrapperOf, isInert } from "./command-wrappers/known-commands.js";
import { basename, normalized } from "./path.js";
import type { ShellAllowlistRule, ShellFinding, ShellSettings, ShellVerdict } from "./policy.js";
import {
  isDevice,
  kKernelFile,
  kNetworkFile,
  kNetworkPrograms,
  rulesOf,
} from "./rules/block-list.js";
import { kCredentialReason, namesCredential } from "./rules/credential-path.js";
import { variableFinding } from "./rules/variables.js";
import { hidesSubscript } from "./script/syntax.js";
import { partOf, printable, type ShellWord } from "./script/word.js";

/** Commands whose words are text for people, so a path among them is only a name. */
const kSpeech = new Set(["echo", "printf", "git", "gh"]);

export class Judge {
  readonly #settings: ShellSettings;
  readonly #findings: Findings;
  readonly #allowed: AllowedCommands;
  readonly arithmetic = new Arithmetic();
  readonly #names = new Set<string>();

  constructor(settings: ShellSettings, findings: Findings) {
    this.#settings = settings;
    this.#findings = findings;
    this.#allowed = new AllowedCommands(settings.allowlist);
  }

  /** Applies the block list. */
  call(call: ShellCall): void {
    const [word] = call.words;
    const { blocklist } = this.#settings;
    this.#names.add(call.name);
    this.arithmetic.call(call);
    if (
      word &&
      blocklist.length > 0 &&
      (blocklist.includes(call.name) || blocklist.includes(word.text))
    ) {
      this.#findings.add("blocklist", "This command is on the block list.", word);
    }
    for (const rule of rulesOf(call.name)) {
      const found = rule.find(call);
      if (found) this.#findings.add(rule.name, rule.reason, found);
    }
    for (const each of call.words) {
      if (each.text.includes("/dev/") && kNetworkFile.test(each.text) && !kSpeech.has(call.name)) {
        this.#findings.add("reverse-shell", "This opens a connection from the shell.", each);
      }
      if (!kSpeech.has(call.name) || !/\s/.test(each.text)) this.value(each, call.directory);
    }
  }

  /** Applies the allow list. */
  name(word: ShellWord): void {
    if (this.#settings.mode === "off" || this.#allowed.has(word.text)) return;
    this.#findings.add("not-on-allowlist", "This command is not on the allow list.", word);
  }

  /** True if this is the name of a command: one on the lists, or a command wrapper. */
  knows(name: string): boolean {
    if (!/^[\w/][\w.+/-]*$/.test(name)) return false;
    const program = basename(name);
    return (
      this.#allowed.has(name) ||
      this.#settings.blocklist.includes(program) ||
      rulesOf(program).length > 0 ||
      commandWrapperOf(program) !== undefined
    );
  }

  /** Returns the first of a program's words that names a command which it may run. */
  commandAmong(words: readonly ShellWord[]): { word: ShellWord; index: number } | undefined {
    return possibleCommands(words).find(({ word }) => this.knows(word.text));
  }

  /** Handles a program that no table lists, and the words that may be a command it runs. */
  unknown({ name, words }: ShellCall): void {
    if (this.#settings.mode === "off" || isInert(name) || rulesOf(name).length > 0) return;
    const found = this.commandAmong(words);
    if (found === undefined) return;
    const reason = "This check does not know the program, which may run what this word names.";
    this.#findings.add("unknown-option", reason, found.word);
  }

  redirects(redirects: readonly ShellRedirect[], directory: string | undefined): void {
    for (const { operator, target } of redirects) {
      if (operator.startsWith("<<")) continue;
      if (kNetworkFile.test(target.text)) {
        this.#findings.add("reverse-shell", "This opens a connection from the shell.", target);
      }
      if (operator !== "<") {
        if (isDevice(target)) {
          this.#findings.add("disk-write", "This writes to a disk directly.", target);
        }
        if (kKernelFile.test(normalized(target.text))) {
          this.#findings.add("system-control", "This changes the running kernel.", target);
        }
      }
      this.value(target, directory);
    }
  }

  /** Checks a word that a command will read as a path, relative to `directory`. */
  value(word: ShellWord, directory: string | undefined): void {
    if (namesCredential(word, directory)) {
      this.#findings.add("credential-path", kCredentialReason, word);
    }
  }

  variable(name: string, value: ShellWord): void {
    if (kNumbers.test(name)) this.arithmetic.read();
    const finding = variableFinding(name, value);
    if (finding) this.#findings.add(finding.rule, finding.reason, { ...value, text: name });
  }

  /** Checks combinations of commands, after all were seen. */
  together(): void {
    this.arithmetic.together(this.#findings);
    if (!this.#names.has("mkfifo") && !this.#names.has("mknod")) return;
    if ([...this.#names].some((name) => kNetworkPrograms.has(name))) {
      this.#findings.add("reverse-shell", "A named pipe and a connection make a reverse shell.");
    }
  }
}

/**
 * The findings in one command, and the resulting verdict. The block list takes precedence over the allow
 * list, wherever in the command each finding is.
 */

type Rule = ShellFinding["rule"];

const kAllowlistRules: ReadonlySet<Rule> = new Set<ShellAllowlistRule>([
  "not-on-allowlist",
  "shell-state",
  "search-path",
  "shell-dialect",
  "unknown-option",
  "unread-script",
]);

export class Findings {
  readonly #settings: ShellSettings;
  /** Findings of the allow list only, by rule and word. */
  readonly #minded = new Map<string, ShellFinding>();
  #blocked: ShellFinding | undefined;

  constructor(settings: ShellSettings) {
    this.#settings = settings;
  }

  /** True if a finding is refused in every mode, so no further check is needed. */
  get decided(): boolean {
    return this.#blocked !== undefined;
  }

  /** `position` is used if there is no word, or the word has no position. */
  add(rule: Rule, reason: string, word?: ShellWord, position?: number): void {
    if (this.decided || this.#settings.disabled.includes(rule)) return;
    const finding: ShellFinding = { rule, reason };
    if (word) finding.command = printable(word);
    const where = word?.position ?? position;
    if (where !== undefined) finding.position = where;
    if (!kAllowlistRules.has(rule)) {
      this.#blocked = finding;
      return;
    }
    const key = `${rule} ${finding.command}`;
    if (!this.#minded.has(key)) this.#minded.set(key, finding);
  }

  verdict(): ShellVerdict {
    const { mode } = this.#settings;
    const minded = mode === "off" ? [] : [...this.#minded.values()];
    const blocked = this.#blocked ?? (mode === "strict" ? minded[0] : undefined);
    const warnings = mode === "warn" ? minded : [];
    return blocked === undefined
      ? { allowed: true, warnings }
      : { allowed: false, warnings, blocked };
  }
}

/** Matches command words against a list of allowed names and paths. */

/** Folders in which a program found by its path is the one that its name denotes. */
const kSystemFolders = new Set([
  "/bin",
  "/sbin",
  "/usr/bin",
  "/usr/sbin",
  "/usr/local/bin",
  "/usr/local/sbin",
]);

function isSystemPath(path: string): boolean {
  return kSystemFolders.has(path.slice(0, Math.max(0, path.lastIndexOf("/"))));
}

class AllowedCommands {
  readonly #list: readonly string[];
  /** The names of commands that are listed by path; created on first use. */
  #names: ReadonlySet<string> | undefined;

  constructor(list: readonly string[]) {
    this.#list = list;
  }

  has(word: string): boolean {
    if (this.#list.includes(word)) return true;
    const slash = word.lastIndexOf("/");
    if (slash >= 0) return isSystemPath(word) && this.#list.includes(word.slice(slash + 1));
    this.#names ??= new Set(this.#list.filter(isSystemPath).map(basename));
    return this.#names.has(word);
  }
}

/**
 * Values that would run a command as soon as arithmetic reads the variable that holds them. Reports only if
 * one check sees both the value and the arithmetic, in any order: either is harmless alone.
 */

/** Builtins that read the expansion of their words as the name of a variable, or as arithmetic. */
const kReaders = new Set(
  (
    "declare export getopts let local mapfile printf read readarray readonly test typeset unset " +
    "wait ["
  ).split(" "),
);

const kDeclares = new Set("declare export local readonly typeset".split(" "));
/** Variables that hold a number, so that the shell evaluates each value they are set to. */
const kNumbers = /^(?:RANDOM|SECONDS|LINENO|HISTCMD|OPTIND|BASHPID|SRANDOM)$/;

/** True if an option makes each later value arithmetic, or the name of a variable. */
function isEvaluated({ text }: ShellWord): boolean {
  return /^-[a-zA-Z]*[in]/.test(text);
}

class Arithmetic {
  #reads = false;
  #value: ShellWord | undefined;

  /** Records arithmetic on variables. */
  read(): void {
    this.#reads = true;
  }

  value(word: ShellWord): void {
    if (this.#value === undefined && word.text.includes("[") && hidesSubscript(word.text)) {
      this.#value = word;
    }
  }

  call({ name, words, redirects }: ShellCall): void {
    for (const word of words) this.value(word);
    for (const { target } of redirects) this.value(target);
    const evaluates = name === "let" || (kDeclares.has(name) && words.some(isEvaluated));
    const read = ({ literal, text }: ShellWord) => !literal || /\w\[/.test(text);
    if (evaluates || (kReaders.has(name) && words.some(read))) this.read();
  }

  together(findings: Findings): void {
    if (!this.#reads || this.#value === undefined) return;
    const reason = "Arithmetic would run the substitution in this value.";
    findings.add("dynamic-code", reason, this.#value);
  }
}

/** Finds words of an unknown program that may name a command for it to run. */

/** Command names that are more often a program's own word: `tool test`, `tool --type file`. */
const kOwnWords = new Set(
  (
    "[ alias at batch bind builtin cat cc clear command complete cut date declare diff dir dirs echo enable " +
    "env eval ex exec exit export expr false fc file find fold format fmt free git go hash head help " +
    "history host id info install jobs join kill last less let link local login look make man more mount " +
    "node npm paste patch pr printf python read rename return run script sed sequence service set shift " +
    "sleep sort source split stat strip sum sync test time times top touch trap tree true type ulimit " +
    "unset users view x86_64 i386 linux32 linux64 arm aarch64 w wait watch which who write yarn yes"
  ).split(" "),
);

/** Returns the part of a word that would name the command; `line`: it includes the command's arguments. */
function named(word: ShellWord): { text: string; line: boolean } {
  const { text } = word;
  const assigned = /^-*[\w.-]+=/.exec(text)?.[0] ?? "";
  const value = text.slice(text.startsWith("-") && assigned === "" ? text.length : assigned.length);
  const [first = ""] = value.trimStart().split(/[\s;&|]/, 1);
  return { text: first, line: first.length < value.trim().length };
}

/** Returns each word with the index at which a command would begin. */
function possibleCommands(
  words: readonly ShellWord[],
): { readonly word: ShellWord; readonly index: number }[] {
  return words.flatMap((word, index) => {
    const before = words[index - 1]?.text ?? "";
    const { text, line } = named(word);
    const own =
      index < 2 ||
      (before.startsWith("-") && before !== "--") ||
      word.text.startsWith("-") ||
      word.text.includes("=");
    if (index === 0 || text === "" || (own && !line && kOwnWords.has(text))) return [];
    return [{ word: partOf(word, text), index }];
  });
}
