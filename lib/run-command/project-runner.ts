/** A native project runner, with the flags that work where this process is. */

import type { ProjectRunnerOptions } from "../../types/addon.js";
import { SandboxError } from "../errors.js";
import { Supervised } from "../runners/supervised.js";
import { nestedFix } from "./nested-fix.js";
import { isNested } from "./nesting.js";

/** How /proc can be had; undefined: not at all. */
export type Nesting = {
  proc: "private" | "host" | undefined;
  /** Why not, and what to do, where it can't be had. */
  reason?: string;
  fix?: string | undefined;
};

export function projectRunner(options: ProjectRunnerOptions): Supervised {
  return new Supervised((addon) => new addon.ProjectRunner(options));
}

type Try = { reason: string; fix?: string | undefined } | undefined;

async function tryProc(options: ProjectRunnerOptions): Promise<Try> {
  const plain = { ...options, secrets: [], readOnly: [] };
  const result = await projectRunner(plain).exec({ argv: ["/bin/sh", "-c", ":"] });
  const { outcome, exitCode } = result;
  if (outcome.kind === "setup-failed") return outcome;
  if (outcome.kind === "exited" && exitCode === 0) return undefined;
  return { reason: `a test command did not run to its end (${outcome.kind}, ${exitCode})` };
}

async function findNesting(options: ProjectRunnerOptions): Promise<Nesting> {
  const failed = await tryProc({ ...options, hostProc: false });
  if (failed === undefined) return { proc: "private" };
  if (isNested()) {
    const without = await tryProc({ ...options, hostProc: true });
    if (without === undefined) return { proc: "host" };
  }
  return { proc: undefined, reason: failed.reason, fix: nestedFix(failed.reason) ?? failed.fix };
}

/** What was found out for a bwrap, once for each Node environment: this process does not move. */
const known = new Map<string, Promise<Nesting>>();

/**
 * What this place allows, by trying it in the first of the options' folders.
 * @throws (rejects) SandboxError where bwrap or the addon is missing; that is not remembered.
 */
export async function nestingFor(options: ProjectRunnerOptions): Promise<Nesting> {
  const key = JSON.stringify([options.bwrapPath, options.network]);
  const answer = known.get(key) ?? findNesting(options);
  known.set(key, answer);
  try {
    const found = await answer;
    if (found.proc === undefined) known.delete(key);
    return found;
  } catch (error) {
    known.delete(key);
    throw error;
  }
}

/** The runner for these options that works here. @throws (rejects) SandboxError where none does. */
export async function workingRunner(options: ProjectRunnerOptions): Promise<Supervised> {
  const { proc, reason = "no sandbox", fix } = await nestingFor(options);
  if (proc === undefined) throw new SandboxError(reason, { code: "ERR_SANDBOX_SETUP", fix });
  return projectRunner({ ...options, hostProc: proc === "host" });
}
