/**
 * What the shell lists ask for. Lists are advice: they catch mistakes and plain attempts early and
 * with a reason. They are not a boundary; the sandbox is.
 */

import { invalidType } from "../errors.js";
import { expectFields, type FieldsOf } from "../fields.js";

/** What is done about a command that is not on the allow list; see {@link ShellPolicy}. */
export type ShellAllowlistMode = "off" | "warn" | "strict";

/** What the shell lists refuse. All may be left out. */
export type ShellPolicy = {
  /**
   * Commands that may run, each by its name or its path. A name also stands for that program in a
   * system folder (`git` for `/usr/bin/git`), never for one elsewhere (`./git`, `/tmp/git`).
   * Builtins and wrappers (`cd`, `env`) count as commands. Default: none.
   */
  shellAllowlist?: readonly string[] | undefined;
  /** `off`: the block list only; `warn`: report what is not on the list; `strict`: refuse it. */
  shellAllowlistMode?: ShellAllowlistMode | undefined;
  /** More commands to refuse, each by its name wherever it lies. Default: none. */
  shellBlocklist?: readonly string[] | undefined;
  /** Classes of the block list to leave out. Default: none. */
  disabledShellRules?: readonly ShellBlockRule[] | undefined;
  /**
   * The shell that will read the command. `sh` (default) may be dash or busybox, which read some of
   * bash's syntax as other commands; what they would read differently is refused. `bash`: it is bash.
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

/** @throws TypeError that names the field. */
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

/** What the check of a shell command says. Positions are UTF-16 offsets into the checked command. */

/** Classes of the block list; each can be switched off by `disabledShellRules`. */
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

/** What can't be judged, so it is refused whatever the mode. */
export type ShellRefusal =
  | "unreadable-syntax"
  | "control-character"
  | "too-long"
  | "too-deep"
  | "dynamic-command"
  | "dynamic-code"
  | "loader-variable"
  | "blocklist";

/** What only the allow list minds: refused by `strict`, a warning in `warn`. */
export type ShellAllowlistRule =
  | "not-on-allowlist"
  | "shell-state"
  | "search-path"
  | "shell-dialect"
  | "unknown-option"
  | "unread-script";

/** One thing found in a command. */
export type ShellFinding = {
  /** Which rule found it. */
  rule: ShellBlockRule | ShellRefusal | ShellAllowlistRule;
  /** A sentence for the one who wrote the command. */
  reason: string;
  /** The offending word, quotes resolved. */
  command?: string;
  /** Where it is; inside a string that a command runs, where that string begins. */
  position?: number;
};

/** `blocked` is there exactly when `allowed` is false. */
export type ShellVerdict = {
  /** Whether the lists let the command pass. */
  allowed: boolean;
  /** What `warn` mode let pass; at most one for each rule and word. */
  warnings: ShellFinding[];
  /** The first thing that they refuse. */
  blocked?: ShellFinding;
};
