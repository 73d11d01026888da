/**
 * The policy of the shell lists. The lists are advisory: they catch mistakes and plain attempts early, with a
 * reason. They are not a security boundary; the sandbox is.
 */

import { invalidType } from "../errors.js";
import { expectFields, type FieldsOf } from "../fields.js";

/** How a command that is not on the allow list is handled; see {@link ShellPolicy}. */
export type ShellAllowlistMode = "off" | "warn" | "strict";

/** Options of the shell lists. All may be omitted. */
export type ShellPolicy = {
  /**
   * Allowed commands, by name or by path. A name also allows that program in a system folder (`git` for
   * `/usr/bin/git`), but never one elsewhere (`./git`, `/tmp/git`). Builtins and command wrappers (`cd`,
   * `env`) count as commands. Default: none.
   */
  shellAllowlist?: readonly string[] | undefined;
  /**
   * `off`: only the block list applies; `warn`: report unlisted commands; `strict`: refuse unlisted commands.
   */
  shellAllowlistMode?: ShellAllowlistMode | undefined;
  /** Additional commands to refuse, by name in any folder. Default: none. */
  shellBlocklist?: readonly string[] | undefined;
  /** Classes of the block list to disable. Default: none. */
  disabledShellRules?: readonly ShellBlockRule[] | undefined;
  /**
   * The shell that will read the command. `sh` (default) may be dash or busybox, which read some bash syntax
   * as other commands; text that they would read differently is refused. `bash`: it is bash.
   */
  shell?: "sh" | "bash" | undefined;
};

/** A policy with its defaults. */
export type ShellSettings = {
  allowlist: readonly string[];
  mode: ShellAllowlistMode;
  blocklist: readonly string[];
  disabled: readonly string[];
  shell: "sh" | "bash";
};

const kPolicy: FieldsOf<ShellPolicy> = {
  shellAllowlist: true,
  shellAllowlistMode: true,
  shellBlocklist: true,
  disabledShellRules: true,
  shell: true,
};

const kNone: readonly string[] = [];

function list(field: string, value: readonly string[] | undefined): readonly string[] {
  if (value === undefined) return kNone;
  if (!Array.isArray(value)) throw invalidType(field, "an array of strings", value);
  for (const entry of value) {
    if (typeof entry !== "string") throw invalidType(field, "an array of strings", entry);
  }
  return value;
}

function choice<T extends string>(
  field: string,
  value: string | undefined,
  choices: readonly T[],
): T {
  const [first] = choices;
  if (value === undefined && first !== undefined) return first;
  const found = choices.find((each) => each === value);
  if (found !== undefined) return found;
  const error = invalidType(field, `one of ${choices.join(", ")}`, value);
  throw Object.assign(error, { code: "ERR_INVALID_ARG_VALUE" });
}

function rules(value: readonly ShellBlockRule[] | undefined): readonly string[] {
  const field = "policy.disabledShellRules";
  return list(field, value).map((entry) => choice(field, entry, kShellBlockRules));
}

/** @throws TypeError naming the field. */
export function shellSettings(policy: ShellPolicy): ShellSettings {
  expectFields(policy, "policy", kPolicy);
  return {
    allowlist: list("policy.shellAllowlist", policy.shellAllowlist),
    mode: choice("policy.shellAllowlistMode", policy.shellAllowlistMode, ["off", "warn", "strict"]),
    blocklist: list("policy.shellBlocklist", policy.shellBlocklist),
    disabled: rules(policy.disabledShellRules),
    shell: choice("policy.shell", policy.shell, ["sh", "bash"]),
  };
}

/** The result of checking a shell command. Positions are UTF-16 offsets into the checked command. */

/** Classes of the block list; `disabledShellRules` can disable each. */
export const kShellBlockRules = [
  "pipe-to-shell",
  "decoded-execution",
  "reverse-shell",
  "destructive-root",
  "disk-write",
  "fork-bomb",
  "inline-code",
  "credential-path",
  "destructive-git",
  "system-control",
  "kernel-module",
] as const;

/** A class of the block list. */
export type ShellBlockRule = (typeof kShellBlockRules)[number];

/** Commands that can't be judged; refused in every mode. */
export type ShellRefusal =
  | "unreadable-syntax"
  | "control-character"
  | "too-long"
  | "too-deep"
  | "dynamic-command"
  | "dynamic-code"
  | "loader-variable"
  | "blocklist";

/** Findings of the allow list only: refused by `strict`, a warning in `warn`. */
export type ShellAllowlistRule =
  | "not-on-allowlist"
  | "shell-state"
  | "search-path"
  | "shell-dialect"
  | "unknown-option"
  | "unread-script";

/** One finding in a command. */
export type ShellFinding = {
  /** The rule that found it. */
  rule: ShellBlockRule | ShellRefusal | ShellAllowlistRule;
  /** A sentence for the author of the command. */
  reason: string;
  /** The offending word, with quotes resolved. */
  command?: string;
  /** Its position; inside a string that a command runs, the beginning of that string. */
  position?: number;
};

/** `blocked` is set exactly if `allowed` is false. */
export type ShellVerdict = {
  /** True if the lists allow the command. */
  allowed: boolean;
  /** Findings that `warn` mode allowed; at most one for each rule and word. */
  warnings: ShellFinding[];
  /** The first finding that is refused. */
  blocked?: ShellFinding;
};
