import { SandboxError } from "../errors.js";
import { checkShellCommand } from "../shell-policy/check-shell-command.js";
import type { ShellFinding } from "../shell-policy/verdict.js";
import type { SecurityConfig } from "./config/config.js";

/**
 * What the shell lists only warn of.
 * @throws SandboxError with code ERR_COMMAND_BLOCKED for a command that they refuse.
 */
export function checkAgainstLists(command: string, security: SecurityConfig): ShellFinding[] {
  const { allowed, blocked, warnings } = checkShellCommand(command, security);
  if (allowed) return warnings;
  const reason = blocked?.reason ?? "The shell lists refuse it.";
  throw new SandboxError(`command blocked (${blocked?.rule ?? "shell lists"}): ${reason}`, {
    code: "ERR_COMMAND_BLOCKED",
    cause: blocked,
  });
}
