/** A command line with the grants of denials added to it. Pure. */

import type { Denial, Grant, NativeMount } from "../../../types/public.js";
import type { CliOptions } from "../options.js";

const kMillisecondsPerSecond = 1000;

/** What holds another comes before it: a later mount would hide it. */
export function withMounts(
  mounts: readonly NativeMount[],
  added: readonly NativeMount[],
): NativeMount[] {
  const placeOf = ({ guestPath, hostPath }: NativeMount) => guestPath ?? hostPath;
  const places = new Set(added.map(placeOf));
  const all = [...mounts.filter((mount) => !places.has(placeOf(mount))), ...added];
  return all.sort((one, other) => placeOf(one).length - placeOf(other).length);
}

function addGrant(options: CliOptions, grant: Grant): CliOptions {
  switch (grant.option) {
    case "mounts":
      return { ...options, mount: withMounts(options.mount ?? [], [grant.value]) };
    case "fsReadDirs":
      return { ...options, roBind: [...new Set([...(options.roBind ?? []), grant.value])] };
    case "network.allow": {
      const { network: _, ...rest } = options;
      return { ...rest, allowHost: [...new Set([...(options.allowHost ?? []), grant.value])] };
    }
    case "network":
      return { ...options, network: grant.value };
    case "limits.memoryBytes":
      return { ...options, memory: grant.value };
    case "limits.cpuSeconds":
      return { ...options, cpu: grant.value * kMillisecondsPerSecond };
    case "limits.maxProcesses":
      return { ...options, maxProcesses: grant.value };
    case "limits.maxOpenFiles":
      return { ...options, maxOpenFiles: grant.value };
    case "limits.maxFileBytes":
      return { ...options, maxFile: grant.value };
    default:
      return options; // the command line has none for it
  }
}

/** The options with all that these denials would need, as far as there are options for it. */
export function withGrants(options: CliOptions, denials: readonly Denial[]): CliOptions {
  return denials.reduce(
    (so, { grant }) => (grant === undefined || grant.cli === "" ? so : addGrant(so, grant)),
    options,
  );
}
