/** Networks of a configuration, between runtimes that can have one by domain and those that can't. Pure. */

import type { BubblewrapNetwork, NetworkMode } from "../../types/public.js";

/** For a runtime that knows modes only; rules, which it refuses before, are no network. */
export function modeOf(network: BubblewrapNetwork): NetworkMode {
  return network === "allow" ? "allow" : "deny";
}

/** The network with these hosts in place of what it allows; what it denies stays denied. */
export function onlyHosts(
  network: BubblewrapNetwork | undefined,
  allow: readonly string[],
): BubblewrapNetwork {
  if (typeof network !== "object") return { allow };
  const { deny, allowPrivate } = network;
  return { allow, ...(deny && { deny }), ...(allowPrivate && { allowPrivate }) };
}
