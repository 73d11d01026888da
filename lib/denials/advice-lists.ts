/** Lists the paths of this host that no suggested grant may open, for the addon. */

import type { AdviceLists, NativeDenial } from "../../types/addon.js";
import type { Denial, Grant } from "../../types/public.js";
import { homes, kProtectedNames, kReadOnlyOfHome, secretsOf } from "../protected-paths.js";
import { shellQuote } from "../text.js";

const kNames = [...kProtectedNames, ...kReadOnlyOfHome];

let last: AdviceLists | undefined;

/**
 * For this user's current homes: called for each explained run, and nearly always the same.
 * @param resolve as for `homes`.
 */
export function adviceLists(resolve: (path: string) => string): AdviceLists {
  const now = homes(resolve);
  if (last === undefined || last.homes.join() !== now.join()) {
    last = { homes: now, secrets: secretsOf(now), protectedNames: kNames };
  }
  return last;
}

/** The command-line form of a grant. Pure. */

/** True for a path that `--mount` can't contain, since it separates its parts by colons. */
const hasColon = (path: string) => path.includes(":");

function mountText(value: Extract<Grant, { option: "mounts" }>["value"]): string {
  const { hostPath, guestPath = hostPath, mode } = value;
  if (hasColon(hostPath) || hasColon(guestPath)) return "";
  const guest = guestPath === hostPath ? "" : `:${guestPath}`;
  return `--mount ${shellQuote(`${hostPath}${guest}:${mode}`)}`;
}

/** Returns the option and its value in shell syntax; empty if no such option exists. */
export function cliOf(grant: Omit<Grant, "cli">): string {
  const { option, value } = grant as Grant;
  switch (option) {
    case "mounts":
      return mountText(value);
    case "fsReadDirs":
      return `--ro-bind ${shellQuote(value)}`;
    case "network.allow":
      return `--allow-host ${shellQuote(value)}`;
    case "network":
      return `--network ${value}`;
    case "fsWriteDirs":
    case "folders":
    case "allowWriteWorkspace":
      return "";
    default: {
      const name = kRunLimitOptions[option.slice("limits.".length)];
      return name === undefined ? "" : `${name} ${value}`;
    }
  }
}

/** Returns a denial in the form of results and audit records. */
export function withCli(denial: NativeDenial): Denial {
  const { grant, ...rest } = denial;
  if (grant === undefined) return rest;
  return { ...rest, grant: { ...grant, cli: cliOf(grant) } as Grant };
}

/** Command-line options for the limits that a run can exceed, by the limit's name. */
export const kRunLimitOptions: Readonly<Record<string, string>> = {
  memoryBytes: "--memory",
  cpuSeconds: "--cpu",
  maxProcesses: "--max-processes",
  maxOpenFiles: "--max-open-files",
  maxFileBytes: "--max-file",
  writeBytes: "--max-write",
};
