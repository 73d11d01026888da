import type { SecurityConfig } from "../runtime/config/config.js";
import { checkAgainstLists } from "../runtime/shell-check.js";
import { shellQuote } from "../shell-quote.js";
import { printError } from "./terminal.js";

/**
 * Holds a command to the shell lists of the configuration, where it has any; what they only warn of
 * is told on standard error.
 *
 * @throws SandboxError with code ERR_COMMAND_BLOCKED for a command that they refuse.
 */
export function checkCommand(command: readonly string[], security: SecurityConfig): void {
  if (security.shellAllowlistMode === "off" && security.shellBlocklist.length === 0) return;
  const line = command.map(shellQuote).join(" ");
  for (const { reason } of checkAgainstLists(line, security)) printError(`warning: ${reason}`);
}
