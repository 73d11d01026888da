// The integration suites under another bwrap: they run in a mount namespace that has it in the place of this machine's.
import { existsSync } from "node:fs";

const kPlace = "/usr/bin/bwrap";
const kSwap = `mount --bind "$1" ${kPlace} && shift && exec "$@"`;

/** Those that look at Bubblewrap's sandboxes. */
const kAll = [
  "clones",
  "denials",
  "isolation",
  "leases",
  "network",
  "prewarm",
  "process-sandbox",
  "project",
  "promises",
  "runs",
  "session",
  "spawn",
  "transaction",
];
const folder = (name) => `__tests__/integration/${name}/`;

/** @returns what check.mjs takes as `suites`; undefined where it can't be put in that place. */
export function bwrapSuites(program) {
  if (process.getuid() !== 0 || !existsSync(kPlace)) return undefined;
  return {
    before: ["unshare", "--mount", "sh", "-c", kSwap, "sh", program],
    integration: kAll.map(folder),
  };
}
