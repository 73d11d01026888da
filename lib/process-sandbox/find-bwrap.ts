import { loadAddon } from "../native.js";
import { installCommand } from "../runtime/diagnosis/distribution.js";
import { readHostFacts } from "../runtime/diagnosis/facts.js";

/**
 * Where bwrap is: on `searchPath`, else on the PATH of this process; null when it is not there. A
 * missing addon is not decided here: what is asked of it next says so.
 */
export function findBwrap(bwrapPath: string, searchPath: string | undefined): string | null {
  try {
    return loadAddon().findProgram(bwrapPath, searchPath);
  } catch {
    return bwrapPath;
  }
}

/** How Bubblewrap is installed on this host. */
export function installBwrap(): string {
  return installCommand(readHostFacts().distribution, "bubblewrap");
}
