/** Checks the paths of a command line before they are used. */

import { existsSync, realpathSync, statSync } from "node:fs";
import { resolve } from "node:path";

import type { SecurityConfig } from "../runtime/config.js";
import { checkAgainstLists } from "../runtime/configured-runtime.js";
import type { ShellFinding } from "../shell-policy/policy.js";
import { shellQuote } from "../text.js";
import type { CliOptions } from "./options.js";
import { CliError, printError } from "./terminal.js";

/** Exit code if no sandbox is available. */
const kCannot = 125;

const kMissing = "it does not exist";

function whyNoDirectory(path: string): string | undefined {
  try {
    return statSync(path).isDirectory() ? undefined : "it is a file";
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOTDIR") return "a part of the path is a file";
    return code === "ENOENT" ? kMissing : String(code);
  }
}

/** True for the root directory, also where it is mounted elsewhere, such as below /proc/self/root. */
function isRoot(path: string): boolean {
  const [here, root] = [statSync(path), statSync("/")];
  return here.dev === root.dev && here.ino === root.ino;
}

/**
 * Returns the workspace's real path.
 * @throws CliError if it is not a directory, or is the host's root without confirmation.
 */
export function checkWorkspace({ workspace, workspaceIsRoot }: CliOptions): string {
  const path = resolve(workspace);
  const why = whyNoDirectory(path);
  if (why !== undefined) {
    const fix = why === kMissing ? "create it, or name another directory" : "name a directory";
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
  const why = whyNoDirectory(resolve(missing));
  const fix = why === kMissing ? "leave it out, or create it" : `leave it out: ${why}`;
  throw new CliError(`${option} names "${missing}", which this host lacks`, kCannot, fix);
}

/** @throws CliError for a path of --ro-bind or --mount that this host lacks. */
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
 * Checks a shell line against the lists of the configuration, if it has any; returns the warnings.
 * @throws SandboxError with code ERR_COMMAND_BLOCKED for a line that they refuse.
 */
export function checkLine(line: string, security: SecurityConfig): ShellFinding[] {
  if (security.shellAllowlistMode === "off" && security.shellBlocklist.length === 0) return [];
  return checkAgainstLists(line, security);
}

/** Like {@link checkLine} for a command's words; prints the warnings on standard error. */
export function checkCommand(command: readonly string[], security: SecurityConfig): void {
  const line = command.map(shellQuote).join(" ");
  for (const { reason } of checkLine(line, security)) printError(`warning: ${reason}`);
}
