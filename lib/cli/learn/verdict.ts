/** What learning grants by itself, and what it leaves to a person. Pure. */

import type { Denial, Grant } from "../../../types/public.js";
import { cliOf } from "../../denials/grant-cli.js";

/** A grant that learning gives: what a policy file can say. */
export type LearnedGrant =
  | Extract<Grant, { option: "mounts" }>
  | { option: "network.allow"; value: string; cli: string };

/** A denial that was not granted, why, and how a person would. */
export type NotGranted = {
  denial: Denial;
  /** A clause. */
  why: string;
  /** Options of `run`, or a setting of the configuration; empty where there is none. */
  byHand: string;
};

/** Names that lead nowhere but into the host's own network. */
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

/** What becomes of a denial. */
export function verdictOf(
  denial: Denial,
  mayGrantNetwork: boolean,
): { grant: LearnedGrant } | { notGranted: NotGranted } {
  const why = whyNot(denial, mayGrantNetwork);
  if (why === undefined) return { grant: denial.grant as LearnedGrant };
  return { notGranted: { denial, why, byHand: byHand(denial) } };
}
