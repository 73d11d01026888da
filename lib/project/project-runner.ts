/** A native project runner, with the flags that work where this process is. */

import { existsSync } from "node:fs";

import type { ProjectRunnerOptions } from "../../types/addon.js";
import type { TransactionHandle } from "../../types/addon-transaction.js";
import { SandboxError } from "../errors.js";
import { Supervised } from "../runners/supervised.js";
import { kMountProc, nestedFix } from "./nested-fix.js";
import { isNested } from "./nesting.js";

/** The flags that depend on where this process is. */
type Flags = { hostProc: boolean; disableUserns: boolean };

/** What can be had here, or why nothing can and what to do. */
export type Nesting =
  | { possible: true; flags: Flags }
  | { possible: false; reason: string; fix?: string | undefined };

/** @throws TypeError on a wrong option (where the native addon is present). */
export function projectRunner(
  options: ProjectRunnerOptions,
  transaction?: TransactionHandle,
): Supervised {
  return new Supervised((addon) => new addon.ProjectRunner(options, transaction));
}

const kBest: Flags = { hostProc: false, disableUserns: true };

/**
 * What an outer sandbox may leave us with, the best first. An outer one with a read-only /proc/sys
 * lets bwrap forbid no user namespaces (our seccomp filter still does); one that covers parts of
 * /proc lets nobody mount another.
 */
const kNested: readonly Flags[] = [
  { hostProc: false, disableUserns: false },
  { hostProc: true, disableUserns: true },
  { hostProc: true, disableUserns: false },
];

type Failure = { reason: string; fix?: string | undefined };

/** Runs nothing in a sandbox with these flags; undefined when that works. */
async function tryFlags(options: ProjectRunnerOptions, flags: Flags): Promise<Failure | undefined> {
  const plain = { ...options, ...flags, secrets: [], readOnly: [] };
  const { outcome, exitCode } = await projectRunner(plain).exec({ argv: ["/bin/sh", "-c", ":"] });
  if (outcome.kind === "setup-failed") return outcome;
  if (outcome.kind === "exited" && exitCode === 0) return undefined;
  return { reason: `a test command did not run to its end (${outcome.kind}, ${exitCode})` };
}

async function findNesting(options: ProjectRunnerOptions): Promise<Nesting> {
  if (!existsSync("/proc/self/fd")) {
    return { possible: false, reason: "there is no /proc here", fix: kMountProc };
  }
  const failed = await tryFlags(options, kBest);
  if (failed === undefined) return { possible: true, flags: kBest };
  for (const flags of isNested() ? kNested : []) {
    if ((await tryFlags(options, flags)) === undefined) return { possible: true, flags };
  }
  const { reason } = failed;
  return { possible: false, reason, fix: nestedFix(reason) ?? failed.fix };
}

/** What was found out for a bwrap, once for each Node environment: this process does not move. */
const known = new Map<string, Promise<Nesting>>();

/**
 * What this place allows, by trying it in the options' folders; a refusal is found out anew.
 * @throws (rejects) SandboxError where bwrap or the addon is missing.
 */
export async function nestingFor(options: ProjectRunnerOptions): Promise<Nesting> {
  const key = JSON.stringify([options.bwrapPath, options.network]);
  const answer = known.get(key) ?? findNesting(options);
  known.set(key, answer);
  const found = await answer.catch((error: unknown) => {
    known.delete(key);
    throw error;
  });
  if (!found.possible) known.delete(key);
  return found;
}

/** The runner for these options that works here. @throws (rejects) SandboxError where none does. */
export async function workingRunner(
  options: ProjectRunnerOptions,
  transaction?: TransactionHandle,
): Promise<Supervised> {
  const nesting = await nestingFor(options);
  if (nesting.possible) return projectRunner({ ...options, ...nesting.flags }, transaction);
  const { reason, fix } = nesting;
  throw new SandboxError(reason, { code: "ERR_SANDBOX_SETUP", fix });
}
