/** Runs a round in a transaction that is discarded, with copies of all other writable files. */

import { cp, lstat, mkdtemp, opendir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";

import type { BubblewrapNetwork, NativeMount, SandboxedExecResult } from "../../../types/public.js";
import { BubblewrapNativeRunner } from "../../runners/bubblewrap.js";
import type { RuntimeConfig } from "../../runtime/config.js";
import { ConfiguredRuntime } from "../../runtime/configured-runtime.js";
import { kKinds } from "../../runtime/kinds.js";
import { type CliOptions, execInput, withMounts } from "../options.js";
import { CliError, commandOutput } from "../terminal.js";
import { openFor } from "../transactions/transaction-place.js";
import type { Learned } from "./rounds.js";

/** @throws (rejects) CliError for a writable mount that can't be copied for each round. */
export async function checkStandIns({ bubblewrap }: RuntimeConfig): Promise<void> {
  for (const { hostPath, mode } of bubblewrap.mounts) {
    const why = mode === "rw" ? await whyNoStandIn(hostPath) : undefined;
    if (why === undefined) continue;
    throw new CliError(`the writable mount of ${hostPath} can't be tried out: ${why}`, 125);
  }
}

/** Runs a command once with full denial reports, and leaves nothing on the host. */
export async function tryOut(
  command: readonly string[],
  config: RuntimeConfig,
  options: CliOptions,
  stdin: Uint8Array | undefined,
  signal: AbortSignal,
): Promise<SandboxedExecResult> {
  const standIns = new StandIns();
  const { workspace, envPolicy, stateDirectory } = options;
  try {
    const mounts = await standIns.inPlaceOf(config.bubblewrap.mounts);
    const reported = withNamesReported(config);
    const own = { ...reported, bubblewrap: { ...reported.bubblewrap, mounts } };
    const runtime = new ConfiguredRuntime(kKinds.bubblewrap, own);
    const runner = runtime.runner({ shadowDir: resolve(workspace), envPolicy });
    const place = stateDirectory === undefined ? {} : { stateDirectory };
    const transaction = await openFor(runner, { ...place, transaction: true });
    try {
      return await (transaction ?? runner).exec({
        ...execInput(command, options),
        stdin,
        signal,
        explain: "lookups",
        onStdout: options.json ? undefined : commandOutput(),
        onStderr: options.json ? undefined : commandOutput(),
      });
    } finally {
      await transaction?.discard();
      if (runner instanceof BubblewrapNativeRunner) await runner.close();
    }
  } finally {
    await standIns.remove();
  }
}

/**
 * Copies the mounts that a round may write: a command's writes to a mount reach the host even in a
 * transaction, and a round must leave nothing behind.
 */

const kMostEntries = 20_000;
const kMostBytes = 256 * 1024 ** 2;

class TooMuch extends Error {}

type Total = { entries: number; bytes: number };

async function add(path: string, total: Total): Promise<void> {
  const stat = await lstat(path);
  total.entries += 1;
  total.bytes += stat.isFile() ? stat.size : 0;
  if (total.entries > kMostEntries || total.bytes > kMostBytes) throw new TooMuch("too large");
  if (!stat.isDirectory() && !stat.isFile() && !stat.isSymbolicLink()) throw new TooMuch("special");
  if (!stat.isDirectory()) return;
  for await (const entry of await opendir(path)) await add(join(path, entry.name), total);
}

/** Returns why it can't be copied; undefined if it can. */
export async function whyNoStandIn(path: string): Promise<string | undefined> {
  try {
    await add(path, { entries: 0, bytes: 0 });
    return undefined;
  } catch (error) {
    if (!(error instanceof TooMuch)) return `it can't be copied: ${(error as Error).message}`;
    return error.message === "special"
      ? "it has what is neither file nor directory, and a round writes to a copy"
      : "it is too large for a copy, and a round writes to a copy";
  }
}

/** The copies of one round. */
class StandIns {
  #directory: string | undefined;
  #count = 0;

  /** Returns the mounts with each writable one replaced by a copy. */
  async inPlaceOf(mounts: readonly NativeMount[]): Promise<NativeMount[]> {
    const made: NativeMount[] = [];
    for (const mount of mounts) made.push(mount.mode === "rw" ? await this.#copyOf(mount) : mount);
    return made;
  }

  async #copyOf({ hostPath, guestPath = hostPath, mode }: NativeMount): Promise<NativeMount> {
    this.#directory ??= await mkdtemp(join(tmpdir(), "native-runner-learn-"));
    this.#count += 1;
    const copy = join(this.#directory, String(this.#count), basename(hostPath));
    await cp(hostPath, copy, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
    return { hostPath: copy, guestPath, mode };
  }

  async remove(): Promise<void> {
    if (this.#directory !== undefined) {
      await rm(this.#directory, { recursive: true, force: true });
      this.#directory = undefined;
    }
  }
}

/** Applies grants to a configuration. Pure. */

const hostsOf = (grants: readonly Learned[]) =>
  grants.flatMap(({ grant }) => (grant.option === "network.allow" ? [grant.value] : []));

const mountsOf = (grants: readonly Learned[]) =>
  grants.flatMap(({ grant }) => (grant.option === "mounts" ? [grant.value] : []));

function withHosts(network: BubblewrapNetwork, hosts: readonly string[]): BubblewrapNetwork {
  if (network === "allow" || hosts.length === 0) return network;
  const rules = network === "deny" ? {} : network;
  return { ...rules, allow: [...new Set([...(rules.allow ?? []), ...hosts])] };
}

/** Returns the configuration with the grants, for the Bubblewrap runtime. */
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

/** Returns the configuration with nothing of the network allowed, but requests reported by name. */
function withNamesReported(config: RuntimeConfig): RuntimeConfig {
  const reported = (network: BubblewrapNetwork): BubblewrapNetwork =>
    network === "deny" ? { allow: [] } : network;
  const { bubblewrap } = config;
  const own = bubblewrap.network;
  return own === undefined
    ? { ...config, network: reported(config.network) }
    : { ...config, bubblewrap: { ...bubblewrap, network: reported(own) } };
}
