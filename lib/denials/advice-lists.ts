/** What of this host no grant is to open, for the addon. */

import type { AdviceLists, NativeDenial } from "../../types/addon.js";
import type { Denial, Grant } from "../../types/public.js";
import { homes, kProtectedNames, kReadOnlyOfHome, secretsOf } from "../protected-paths.js";
import { shellQuote } from "../text.js";

const kNames = [...kProtectedNames, ...kReadOnlyOfHome];

let last: AdviceLists | undefined;

/** As this user's homes are now: asked for with each explained run, and nearly always the same. */
export function adviceLists(): AdviceLists {
  const now = homes();
  if (last === undefined || last.homes.join() !== now.join()) {
    last = { homes: now, secrets: secretsOf(now), protectedNames: kNames };
  }
  return last;
}

/** How the command line says a grant. Pure. */

/** A path that `--mount` can't have in it, since its parts are told apart by colons. */
const hasColon = (path: string) => path.includes(":");

function mountText(value: Extract<Grant, { option: "mounts" }>["value"]): string {
  const { hostPath, guestPath = hostPath, mode } = value;
  if (hasColon(hostPath) || hasColon(guestPath)) return "";
  const guest = guestPath === hostPath ? "" : `:${guestPath}`;
  return `--mount ${shellQuote(`${hostPath}${guest}:${mode}`)}`;
}

/** The option and its value as a shell reads them; empty where there is no such option. */
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

/** A denial as results and audits have it. */
export function withCli(denial: NativeDenial): Denial {
  const { grant, ...rest } = denial;
  if (grant === undefined) return rest;
  return { ...rest, grant: { ...grant, cli: cliOf(grant) } as Grant };
}

/** The command line's options for limits that a run can meet with, by the limit's name. */
export const kRunLimitOptions: Readonly<Record<string, string>> = {
  memoryBytes: "--memory",
  cpuSeconds: "--cpu",
  maxProcesses: "--max-processes",
  maxOpenFiles: "--max-open-files",
  maxFileBytes: "--max-file",
};
