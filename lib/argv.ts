import type { BubblewrapArgvOptions, BubblewrapCommand } from "../types/public.js";
import { fromNative } from "./errors.js";
import { loadAddon } from "./native.js";

/**
 * The plain Bubblewrap command line for a command: pure and deterministic, nothing is looked up.
 * `args` holds the options, "--", and the command unchanged; `cmd` is `bwrapPath`. See bwrap(1).
 *
 * @throws TypeError on a wrong value, also on a `cwd` that leaves the workspace.
 * @throws SandboxError where the native addon is missing.
 */
export function buildBubblewrapArgv(options: BubblewrapArgvOptions): BubblewrapCommand {
  const addon = loadAddon();
  try {
    return addon.buildBubblewrapArgv(options);
  } catch (error) {
    throw fromNative(error);
  }
}
