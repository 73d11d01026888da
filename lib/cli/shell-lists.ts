import type { SecurityConfig } from "../runtime/config/config.js";
import { checkAgainstLists } from "../runtime/shell-check.js";
import type { ShellFinding } from "../shell-policy/verdict.js";
import { shellQuote } from "../shell-quote.js";
import { printError } from "./terminal.js";

/**
 * Holds a shell's line to the lists of the configuration, where it has any; what they only warn of.
 * @throws SandboxError with code ERR_COMMAND_BLOCKED for one that they refuse.
 */
export function checkLine(line: string, security: SecurityConfig): ShellFinding[] {
  if (security.shellAllowlistMode === "off" && security.shellBlocklist.length === 0) return [];
  return checkAgainstLists(line, security);
}

/** The same for a command's words; what they only warn of is told on standard error. */
export function checkCommand(command: readonly string[], security: SecurityConfig): void {
  const line = command.map(shellQuote).join(" ");
  for (const { reason } of checkLine(line, security)) printError(`warning: ${reason}`);
}
