// The integration suites under another bwrap: they run in a mount namespace that has it in the place of this machine's.
import { existsSync } from "node:fs";
import { kSandboxSuites } from "./sandbox-suites.mjs";

const kPlace = "/usr/bin/bwrap";
const kSwap = `mount --bind "$1" ${kPlace} && shift && exec "$@"`;

/** @returns what check.mjs takes as `suites`; undefined where it can't be put in that place. */
export function bwrapSuites(program) {
  if (process.getuid() !== 0 || !existsSync(kPlace)) return undefined;
  return {
    before: ["unshare", "--mount", "sh", "-c", kSwap, "sh", program],
    integration: kSandboxSuites,
  };
}
