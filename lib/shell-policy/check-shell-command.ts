import { invalidType } from "../errors.js";
import { Inspector } from "./inspector.js";
import { type ShellPolicy, shellSettings } from "./policy.js";
import type { ShellVerdict } from "./verdict.js";

/**
 * What the shell lists say to a command line: the block list first, then the allow list in the mode
 * that the policy sets. Reads it with a shell parser, follows wrappers (`env`, `sudo`, `sh -c` …),
 * and refuses what it can't read. Pure and synchronous; nothing is run or looked up.
 *
 * The lists are advice. They catch mistakes and plain attempts with a reason the author can act on;
 * a program on the allow list can still do whatever the sandbox lets it. The sandbox is the boundary.
 *
 * @throws TypeError on a wrong value in `command` or `policy`.
 */
export function checkShellCommand(command: string, policy: ShellPolicy = {}): ShellVerdict {
  if (typeof command !== "string") throw invalidType("command", "a string", command);
  const inspector = new Inspector(shellSettings(policy));
  inspector.script(command);
  return inspector.verdict();
}
