/** A configuration with grants. Pure. */

import type { BubblewrapNetwork } from "../../../types/public.js";
import type { RuntimeConfig } from "../../runtime/config/config.js";
import { withMounts } from "../why/with-grants.js";
import type { Learned } from "./learned.js";

const hostsOf = (grants: readonly Learned[]) =>
  grants.flatMap(({ grant }) => (grant.option === "network.allow" ? [grant.value] : []));

const mountsOf = (grants: readonly Learned[]) =>
  grants.flatMap(({ grant }) => (grant.option === "mounts" ? [grant.value] : []));

function withHosts(network: BubblewrapNetwork, hosts: readonly string[]): BubblewrapNetwork {
  if (network === "allow" || hosts.length === 0) return network;
  const rules = network === "deny" ? {} : network;
  return { ...rules, allow: [...new Set([...(rules.allow ?? []), ...hosts])] };
}

/** The configuration with what was granted, for the Bubblewrap runtime. */
export function withLearned(config: RuntimeConfig, grants: readonly Learned[]): RuntimeConfig {
  const { bubblewrap } = config;
  const hosts = hostsOf(grants);
  const mounts = mountsOf(grants);
  const own = bubblewrap.network;
  return {
    ...config,
    runtimeType: "bubblewrap",
    network: own === undefined ? withHosts(config.network, hosts) : config.network,
    bubblewrap: {
      ...bubblewrap,
      ...(own === undefined ? {} : { network: withHosts(own, hosts) }),
      mounts: mounts.length === 0 ? bubblewrap.mounts : withMounts(bubblewrap.mounts, mounts),
    },
  };
}

/** The same where nothing of the network is open, but what is asked for is told by name. */
export function withNamesTold(config: RuntimeConfig): RuntimeConfig {
  const told = (network: BubblewrapNetwork): BubblewrapNetwork =>
    network === "deny" ? { allow: [] } : network;
  const { bubblewrap } = config;
  const own = bubblewrap.network;
  return own === undefined
    ? { ...config, network: told(config.network) }
    : { ...config, bubblewrap: { ...bubblewrap, network: told(own) } };
}
