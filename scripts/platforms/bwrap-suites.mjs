// The integration suites under another bwrap: they run in a mount namespace that has it in the place of this machine's.
import { existsSync } from "node:fs";
import { outputOf } from "../lib/run.mjs";
import { kSandboxSuites } from "./sandbox-suites.mjs";

const kPlace = "/usr/bin/bwrap";
const kSwap = `mount --bind "$1" ${kPlace} && shift && exec "$@"`;

/** Suites of sandboxes that are mounted by descriptor: of a bwrap that can't, others show what is said instead. */
const kByDescriptor = /\/(clones|prewarm|transaction)\/$/;

/** @returns what check.mjs takes as `suites`; undefined where it can't be put in that place. */
export function bwrapSuites(program) {
  if (process.getuid() !== 0 || !existsSync(kPlace)) return undefined;
  const hasBindFd = / --bind-fd /.test(outputOf(program, ["--help"]) ?? "");
  return {
    before: ["unshare", "--mount", "sh", "-c", kSwap, "sh", program],
    integration: kSandboxSuites.filter((suite) => hasBindFd || !kByDescriptor.test(suite)),
  };
}
