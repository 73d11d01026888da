/**
 * What was found in one command, and the verdict that follows from it. The block list decides
 * before the allow list, wherever in the command they find something.
 */

import type { ShellSettings } from "./policy.js";
import { printable, type ShellWord } from "./script/word.js";
import type { ShellAllowlistRule, ShellFinding, ShellVerdict } from "./verdict.js";

export type Rule = ShellFinding["rule"];

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
  /** What only the allow list minds, by rule and word. */
  readonly #minded = new Map<string, ShellFinding>();
  #blocked: ShellFinding | undefined;

  constructor(settings: ShellSettings) {
    this.#settings = settings;
  }

  /** Something was found that no mode lets pass, so nothing more needs to be seen. */
  get decided(): boolean {
    return this.#blocked !== undefined;
  }

  /** `position` is used where there is no word, or where the word has none. */
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
