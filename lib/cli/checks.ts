/** The paths of a command line, looked at before anything is made of them. */

import { existsSync, realpathSync, statSync } from "node:fs";
import { resolve } from "node:path";

import type { SecurityConfig } from "../runtime/config.js";
import { checkAgainstLists } from "../runtime/configured-runtime.js";
import type { ShellFinding } from "../shell-policy/policy.js";
import { shellQuote } from "../text.js";
import type { CliOptions } from "./options.js";
import { CliError, printError } from "./terminal.js";

/** Exit code where a sandbox can't be made. */
const kCannot = 125;

function whyNoDirectory(path: string): string | undefined {
  try {
    return statSync(path).isDirectory() ? undefined : "it is a file";
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === "ENOENT" ? "it does not exist" : String(code);
  }
}

/** The root directory also where it is mounted elsewhere, as below /proc/self/root. */
function isRoot(path: string): boolean {
  const [here, root] = [statSync(path), statSync("/")];
  return here.dev === root.dev && here.ino === root.ino;
}

/**
 * The workspace's real path.
 * @throws CliError when it is no directory, or is the host's root and that was not agreed to.
 */
export function checkWorkspace({ workspace, workspaceIsRoot }: CliOptions): string {
  const path = resolve(workspace);
  const why = whyNoDirectory(path);
  if (why !== undefined) {
    const fix = "create it, or name another directory";
    throw new CliError(`--workspace ${path} is no directory: ${why}`, kCannot, fix);
  }
  if (isRoot(path) && workspaceIsRoot !== true) {
    throw new CliError(
      `--workspace ${workspace} is the root directory: commands could write all of this host`,
      2,
      "name the project's directory; or say that you mean it with --workspace-is-root",
    );
  }
  return realpathSync(path);
}

function expectThere(option: string, paths: readonly string[]): void {
  const missing = paths.find((path) => !existsSync(resolve(path)));
  if (missing === undefined) return;
  const fix = "leave it out, or create it";
  throw new CliError(`${option} names "${missing}", which this host lacks`, kCannot, fix);
}

/** @throws CliError for a --ro-bind or a --mount that this host lacks. */
export function checkMounts({
  roBind = [],
  mount = [],
}: Pick<CliOptions, "roBind" | "mount">): void {
  expectThere("--ro-bind", roBind);
  expectThere(
    "--mount",
    mount.map(({ hostPath }) => hostPath),
  );
}

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
