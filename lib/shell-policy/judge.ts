/** What the lists say to one call, redirect, value or variable: the walk's part is to bring them. */

import { AllowedCommands } from "./allowed-commands.js";
import type { ShellCall, ShellRedirect } from "./call.js";
import type { Findings } from "./findings.js";
import { normalized } from "./path.js";
import type { ShellSettings } from "./policy.js";
import { kCredentialReason, namesCredential } from "./rules/credential-path.js";
import { isDevice } from "./rules/disk-write.js";
import { rulesOf } from "./rules/index.js";
import { kNetworkFile, kNetworkPrograms } from "./rules/reverse-shell.js";
import { kKernelFile } from "./rules/system.js";
import { variableFinding } from "./variable.js";
import type { ShellWord } from "./word.js";

/** Their words are text for people, in which a path is no more than its name. */
const kSpeech = new Set(["echo", "printf", "git", "gh"]);

export class Judge {
  readonly #settings: ShellSettings;
  readonly #findings: Findings;
  readonly #allowed: AllowedCommands;
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
    if (!this.#names.has("mkfifo") && !this.#names.has("mknod")) return;
    if ([...this.#names].some((name) => kNetworkPrograms.has(name))) {
      this.#findings.add("reverse-shell", "A named pipe and a connection make a reverse shell.");
    }
  }
}
