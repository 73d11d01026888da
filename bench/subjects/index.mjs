// What is measured: the scenarios, in the order in which they are measured and reported, and the variants that
// they compare. Each subject's file exports its `scenarios`, its `variants`, or both, which are tables.
//
// A variant runs in a Node process of its own, in which `open` is called with the suite's set-up
// { workspace, sandbox, home } and the variant's `options`, and resolves to what runs it:
//   exec(input)     one run; or burst(request), which measures a burst of something else
//   ready?()        waits until all sandboxes that it keeps stand
//   sandboxBytes?() what a sandbox takes
//   close?()
// The C program floor.c has `openHere` instead, which is called in the suite's process. Besides:
//   title   as people read it
//   kind    whose it is, which is how plots colour it: ours, floor, same-bwrap or peer
//   missing?()  why it can't run here, or undefined
//   share   of a burst's runs, for what is so slow that the suite would take too long
//   startsNothing  it runs no command
//   isUnconfined  it has no sandbox, so ours is not compared with it
//   isolatesAs  the variant whose sandbox this one has, where it can't be asked itself

import * as auditLog from "./audit-log.mjs";
import * as bounds from "./bounds.mjs";
import * as branches from "./branches.mjs";
import * as commandLine from "./command-line.mjs";
import * as explain from "./explain.mjs";
import * as forward from "./forward.mjs";
import * as home from "./home.mjs";
import * as mcp from "./mcp.mjs";
import * as network from "./network.mjs";
import * as others from "./others.mjs";
import * as ours from "./ours.mjs";
import * as remote from "./remote.mjs";
import * as review from "./review.mjs";
import * as runs from "./runs.mjs";
import * as secrets from "./secrets.mjs";
import * as shellLists from "./shell-lists.mjs";
import * as skills from "./skills.mjs";
import * as transactions from "./transactions.mjs";

/** By the names of their files. */
const kSubjects = {
  ...{ runs, ours, others },
  ...{ "shell-lists": shellLists, skills },
  ...{
    transactions,
    branches,
    network,
    forward,
    bounds,
    secrets,
    explain,
    home,
    "audit-log": auditLog,
  },
  ...{ mcp, review, remote, "command-line": commandLine },
};

export const kScenarios = Object.values(kSubjects).flatMap(({ scenarios = [] }) => scenarios);

/** By their names, each with the `subject` that it belongs to. */
export const kVariants = Object.fromEntries(
  Object.entries(kSubjects).flatMap(([subject, { variants = {} }]) =>
    Object.entries(variants).map(([name, variant]) => [name, { ...variant, subject }]),
  ),
);

/** Why a variant can't run here, or undefined. */
export const whyMissing = async (name) => kVariants[name].missing?.();
