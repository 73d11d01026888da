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
