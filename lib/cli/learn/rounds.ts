/** Learning, round after round. Knows of no sandbox: what a round is, is the caller's. */

import type { Denial, SandboxedExecResult } from "../../../types/public.js";
import type { Learned, LearnedGrants } from "./learned.js";
import { type LearnedGrant, type NotGranted, verdictOf } from "./verdict.js";

/** What a round came to. */
export type Round = {
  result: SandboxedExecResult;
  /** New, and given in the next round. */
  granted: LearnedGrant[];
  notGranted: NotGranted[];
};

/** How the rounds are held. */
export type RoundsOptions = {
  /** One run of the command with these grants, of which nothing is left. */
  attempt: (grants: readonly Learned[]) => Promise<SandboxedExecResult>;
  /** Why a grant can't be tried out here; undefined where it can. */
  whyNotTried: (grant: LearnedGrant) => Promise<string | undefined>;
  grants: LearnedGrants;
  mayGrantNetwork: boolean;
  maxRounds: number;
  onRound: (round: Round, number: number) => void;
  signal: AbortSignal;
};

const hasSucceeded = ({ outcome, exitCode }: SandboxedExecResult) =>
  outcome.kind === "exited" && exitCode === 0;

/** A name that was allowed, and leads to an address that it may not. */
const leadsInside = ({ host, by, grant }: Denial, grants: LearnedGrants) =>
  by === "network" && grant === undefined && host !== undefined && grants.withdraw(host);

async function judge(
  result: SandboxedExecResult,
  options: RoundsOptions,
): Promise<Pick<Round, "granted" | "notGranted">> {
  const { grants, mayGrantNetwork, whyNotTried } = options;
  const granted: LearnedGrant[] = [];
  const notGranted: NotGranted[] = [];
  for (const denial of result.denials) {
    leadsInside(denial, grants);
    const verdict = verdictOf(denial, mayGrantNetwork);
    if ("notGranted" in verdict) {
      notGranted.push(verdict.notGranted);
      continue;
    }
    const why = await whyNotTried(verdict.grant);
    if (why !== undefined) {
      notGranted.push({ denial, why, byHand: verdict.grant.cli });
    } else if (grants.add(verdict.grant, denial)) granted.push(verdict.grant);
  }
  return { granted, notGranted };
}

/**
 * Runs until it succeeds, nothing new is asked for, the rounds are used up, or `signal`. What the last round
 * was denied and succeeded without is not granted.
 */
export async function learnInRounds(options: RoundsOptions): Promise<Round[]> {
  const { attempt, grants, maxRounds, onRound, signal } = options;
  const rounds: Round[] = [];
  while (rounds.length < maxRounds) {
    const result = await attempt(grants.all);
    const isLast = rounds.length + 1 === maxRounds || hasSucceeded(result) || signal.aborted;
    const judged = isLast ? await leftOut(result, options) : await judge(result, options);
    const round = { result, ...judged };
    rounds.push(round);
    onRound(round, rounds.length);
    if (isLast || round.granted.length === 0) break;
  }
  return rounds;
}

/** Of a round after which there is none: what would have been granted is told, and is not. */
async function leftOut(
  result: SandboxedExecResult,
  { grants, mayGrantNetwork }: RoundsOptions,
): Promise<Pick<Round, "granted" | "notGranted">> {
  const why = hasSucceeded(result) ? "it succeeded without" : "there is no further round";
  const notGranted = result.denials.map((denial) => {
    leadsInside(denial, grants);
    const verdict = verdictOf(denial, mayGrantNetwork);
    return "notGranted" in verdict
      ? verdict.notGranted
      : { denial, why, byHand: verdict.grant.cli };
  });
  return { granted: [], notGranted };
}
