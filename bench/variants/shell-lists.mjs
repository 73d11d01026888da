// This package's check of a shell command, with an allow list.

import { checkShellCommand } from "../../dist/index.js";
import { kAllowed, timed } from "./shell-commands.mjs";

const kPolicy = { shellAllowlist: kAllowed, shellAllowlistMode: "strict" };

function check(command) {
  const { allowed, blocked } = checkShellCommand(command, kPolicy);
  if (!allowed) throw new Error(`refused: ${blocked.reason} ${command}`);
}

export function open() {
  return { burst: timed(check) };
}
