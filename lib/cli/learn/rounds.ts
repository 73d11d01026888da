/** Learns in rounds. Independent of any sandbox: the caller defines a round. */

import type { Denial, Grant, SandboxedExecResult } from "../../../types/public.js";
import { cliOf } from "../../denials/advice-lists.js";
import { visibleLine } from "../../text.js";
import { wantedOf } from "../why.js";

/** The result of a round. */
export type Round = {
  result: SandboxedExecResult;
  /** New grants, applied in the next round. */
  granted: LearnedGrant[];
  notGranted: NotGranted[];
};

/** Options of the rounds. */
export type RoundsOptions = {
  /** Runs the command once with these grants, and leaves nothing behind. */
  attempt: (grants: readonly Learned[]) => Promise<SandboxedExecResult>;
  /** Returns why a grant can't be tried here; undefined if it can. */
  whyNotTried: (grant: LearnedGrant) => Promise<string | undefined>;
  grants: LearnedGrants;
  mayGrantNetwork: boolean;
  maxRounds: number;
  onRound: (round: Round, number: number) => void;
  signal: AbortSignal;
};

const hasSucceeded = ({ outcome, exitCode }: SandboxedExecResult) =>
  outcome.kind === "exited" && exitCode === 0;

/** True for an allowed name that leads to a forbidden address; withdraws its grants. */
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
 * Runs until the command succeeds, nothing new is requested, the rounds are used up, or `signal` is aborted.
 * Denials of a last round that succeeded are not granted.
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

/** For the last round: reports the grants that would have been made, without making them. */
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

/** Decides which grants learning makes itself, and which it leaves to a person. Pure. */

/** A grant that learning makes: one that a policy file can express. */
export type LearnedGrant =
  | Extract<Grant, { option: "mounts" }>
  | { option: "network.allow"; value: string; cli: string };

/** A denial that was not granted, the reason, and how a person would grant it. */
export type NotGranted = {
  denial: Denial;
  /** The reason, as a clause. */
  why: string;
  /** Options of `run`, or a setting of the configuration; empty if neither exists. */
  byHand: string;
};

/** Names that lead only into the host's own network. */
const kInner = /(^|\.)(localhost|local|internal|intranet|private|corp|home|lan|localdomain|arpa)$/;

const isPublicName = (entry: string) => {
  const name = entry.replace(/:\d+$/, "");
  return name.includes(".") && !kInner.test(name);
};

function whyNot(denial: Denial, mayGrantNetwork: boolean): string | undefined {
  const { grant, notAdvised, kind } = denial;
  if (grant === undefined) return notAdvised ?? "no option allows it";
  switch (grant.option) {
    case "mounts":
      return kind === "connect" ? "what is behind a socket acts for the host" : undefined;
    case "network.allow":
      if (!mayGrantNetwork) return "the network is not to be granted";
      return isPublicName(grant.value) ? undefined : "it is no public name";
    case "network":
      return "it would allow all of the network";
    case "allowWriteWorkspace":
      return "the configuration says that the workspace is not written";
    default:
      return grant.option.startsWith("limits.")
        ? "a limit that somebody has set is not raised"
        : "a policy file can't say it";
  }
}

function byHand({ grant, kind, path, hostPath, host }: Denial): string {
  if (grant !== undefined) return grant.cli || `${grant.option}: ${JSON.stringify(grant.value)}`;
  if (path !== undefined && hostPath !== undefined) {
    const mode = kind === "write" ? "rw" : "ro";
    return cliOf({ option: "mounts", value: { hostPath, guestPath: path, mode } } as Grant);
  }
  return host === undefined ? "" : `network.allowPrivate: ${JSON.stringify([host])}`;
}

/** Decides if a denial is granted. */
function verdictOf(
  denial: Denial,
  mayGrantNetwork: boolean,
): { grant: LearnedGrant } | { notGranted: NotGranted } {
  const why = whyNot(denial, mayGrantNetwork);
  if (why === undefined) return { grant: denial.grant as LearnedGrant };
  return { notGranted: { denial, why, byHand: byHand(denial) } };
}

/** The grants so far, and their reasons. */

/** A grant with its reasons, each one line. */
export type Learned = { grant: LearnedGrant; reasons: string[] };

/** Maximum number of reasons kept per grant. */
const kMostReasons = 4;

/** Returns a key that is equal for equal grants. */
export function keyOf({ option, value }: LearnedGrant): string {
  if (option === "network.allow") return `host ${value}`;
  const { hostPath, guestPath = hostPath, mode } = value;
  return JSON.stringify([hostPath, guestPath, mode]);
}

/**
 * Returns "read /opt/inc/a.h, asked for by cc1 (openat, ENOENT)", on one line whatever text the command
 * chose.
 */
export function reasonOf(denial: Denial): string {
  const { operation, program, errno, count } = denial;
  const by = program === undefined ? "" : `, asked for by ${program}`;
  const details = [operation, errno, count > 1 ? `${count} times` : ""].filter(Boolean).join(", ");
  const text = visibleLine(`${wantedOf(denial)}${by} (${details})`);
  return text.replace(/[\u2028\u2029]/g, " ");
}

/** Returns options to paste, in an order in which no mount hides another. */
export function optionsOf(grants: readonly Learned[]): string[] {
  const depth = ({ grant }: Learned) =>
    grant.option === "mounts" ? (grant.value.guestPath ?? grant.value.hostPath).length : 0;
  const inOrder = [...grants].sort((one, other) => depth(one) - depth(other));
  return inOrder.map(({ grant }) => grant.cli).filter((cli) => cli !== "");
}

/** Grants in the order in which they were made. */
export class LearnedGrants {
  readonly #grants = new Map<string, Learned>();
  readonly #withdrawn = new Set<string>();

  constructor(before: readonly Learned[] = []) {
    for (const learned of before) this.#grants.set(keyOf(learned.grant), learned);
  }

  get all(): Learned[] {
    return [...this.#grants.values()];
  }

  /** Adds a grant; returns true if it is new. A writable mount replaces the read-only one. */
  add(grant: LearnedGrant, denial: Denial): boolean {
    const key = keyOf(grant);
    if (this.#withdrawn.has(key)) return false;
    const known = this.#grants.get(key);
    if (known !== undefined) {
      this.#tell(known, denial);
      return false;
    }
    const learned = { grant, reasons: this.#takeReadOnly(grant) };
    this.#tell(learned, denial);
    this.#grants.set(key, learned);
    return true;
  }

  /** Withdraws the grants of a host that leads nowhere they would allow. Returns true if there were any. */
  withdraw(host: string): boolean {
    const found = this.all.filter(
      ({ grant }) => grant.option === "network.allow" && grant.value.replace(/:\d+$/, "") === host,
    );
    for (const { grant } of found) {
      this.#grants.delete(keyOf(grant));
      this.#withdrawn.add(keyOf(grant));
    }
    return found.length > 0;
  }

  #tell({ reasons }: Learned, denial: Denial): void {
    const reason = reasonOf(denial);
    if (reasons.length < kMostReasons && !reasons.includes(reason)) reasons.push(reason);
  }

  #takeReadOnly(grant: LearnedGrant): string[] {
    if (grant.option !== "mounts" || grant.value.mode !== "rw") return [];
    const before = keyOf({ ...grant, value: { ...grant.value, mode: "ro" } });
    const reasons = this.#grants.get(before)?.reasons ?? [];
    this.#grants.delete(before);
    return reasons;
  }
}
