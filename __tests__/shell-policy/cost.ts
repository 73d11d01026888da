/** What a check costs: in steps of its budget, and in CPU time of this process. */

import { Budget } from "../../lib/shell-policy/budget.js";
import { checkShellCommand } from "../../lib/shell-policy/check-shell-command.js";
import { kShellBlockRules, type ShellPolicy } from "../../lib/shell-policy/policy.js";
import { kMostCharacters } from "./hostile-texts.js";

/** So that nothing that is found ends a check early. */
const kThorough: ShellPolicy = {
  shellAllowlistMode: "warn",
  shellAllowlist: ["ls"],
  shell: "bash",
  disabledShellRules: kShellBlockRules,
};

/** Ordinary commands, of which nothing is read more often than need be. */
const kReference = 'x=1; echo "$x" a\n(ls a && ls -l | cat) >b\n';
const kReferenceText = kReference.repeat(Math.floor(kMostCharacters / kReference.length));
/** A first run may be compiled, any may have a collection of garbage in it. */
const kRuns = 9;
/** What is cheaper than this in one run needs no other. */
const kCheap = 1.5;

export function stepsOf(text: string): number {
  const spend = Budget.prototype.spend;
  let steps = 0;
  Budget.prototype.spend = function (more) {
    steps += more;
    return spend.call(this, more);
  };
  try {
    checkShellCommand(text, kThorough);
  } finally {
    Budget.prototype.spend = spend;
  }
  return steps;
}

function cpuMs(text: string): number {
  const before = process.cpuUsage();
  checkShellCommand(text, kThorough);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** So that the reference text is compiled, and measured as it will be. */
export function warmUp(): void {
  for (let run = 0; run < 30; run++) cpuMs(kReferenceText);
}

/**
 * How many times as long as the reference a text takes: the least of several runs against the
 * median of as many of the reference between them, since other work on the machine slows both.
 */
export function relativeCost(text: string): number {
  const reference: number[] = [];
  let least = Number.POSITIVE_INFINITY;
  let cost = least;
  for (let run = 0; run < kRuns && cost > kCheap; run++) {
    least = Math.min(least, cpuMs(text));
    reference.push(cpuMs(kReferenceText));
    reference.sort((a, b) => a - b);
    cost = least / (reference[reference.length >> 1] ?? 0);
  }
  return cost;
}
