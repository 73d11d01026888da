/** How the command line says a grant. Pure. */

import type { NativeDenial } from "../../types/addon.js";
import type { Denial, Grant } from "../../types/public.js";
import { shellQuote } from "../shell-quote.js";
import { kRunLimitOptions } from "./limit-options.js";

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
