/** What the lists say to one call, redirect, value or variable: the walk's part is to bring them. */

import { AllowedCommands } from "./allowed-commands.js";
import { Arithmetic } from "./arithmetic.js";
import { basename, type ShellCall, type ShellRedirect } from "./call.js";
import { carrierOf, isInert } from "./carriers/index.js";
import { possibleCommands } from "./carriers/possible-commands.js";
import type { Findings } from "./findings.js";
import { normalized } from "./path.js";
import type { ShellSettings } from "./policy.js";
import { kCredentialReason, namesCredential } from "./rules/credential-path.js";
import { isDevice } from "./rules/disk-write.js";
import { rulesOf } from "./rules/index.js";
import { kNetworkFile, kNetworkPrograms } from "./rules/reverse-shell.js";
import { kKernelFile } from "./rules/system.js";
import type { ShellWord } from "./script/word.js";
import { variableFinding } from "./variable.js";

/** Their words are text for people, in which a path is no more than its name. */
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

  /** By the block list. */
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

  /** By the allow list. */
  name(word: ShellWord): void {
    if (this.#settings.mode === "off" || this.#allowed.has(word.text)) return;
    this.#findings.add("not-on-allowlist", "This command is not on the allow list.", word);
  }

  /** Whether this is the name of some command: one of the lists, or one that starts others. */
  knows(name: string): boolean {
    if (!/^[\w/][\w.+/-]*$/.test(name)) return false;
    const program = basename(name);
    return (
      this.#allowed.has(name) ||
      this.#settings.blocklist.includes(program) ||
      rulesOf(program).length > 0 ||
      carrierOf(program) !== undefined
    );
  }

  /** The first of a program's words that names a command which it may run. */
  commandAmong(words: readonly ShellWord[]): { word: ShellWord; index: number } | undefined {
    return possibleCommands(words).find(({ word }) => this.knows(word.text));
  }

  /** A program that no table knows, and what in its words may be a command that it runs. */
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

  /** A word that some command will read as a path, seen from `directory`. */
  value(word: ShellWord, directory: string | undefined): void {
    if (namesCredential(word, directory)) {
      this.#findings.add("credential-path", kCredentialReason, word);
    }
  }

  variable(name: string, value: ShellWord): void {
    const finding = variableFinding(name, value);
    if (finding) this.#findings.add(finding.rule, finding.reason, { ...value, text: name });
  }

  /** What all commands make together, once each was seen. */
  together(): void {
    this.arithmetic.together(this.#findings);
    if (!this.#names.has("mkfifo") && !this.#names.has("mknod")) return;
    if ([...this.#names].some((name) => kNetworkPrograms.has(name))) {
      this.#findings.add("reverse-shell", "A named pipe and a connection make a reverse shell.");
    }
  }
}
