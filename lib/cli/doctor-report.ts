/** Collects the data of `native-runner doctor`. */

import { randomBytes } from "node:crypto";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";

import type { BubblewrapNetwork, NativeLimits } from "../../types/public.js";
import type { SandboxError } from "../errors.js";
import { HomeSource } from "../home/home-view.js";
import type { Found } from "../home/host-tools.js";
import { loadAddon } from "../native.js";
import { kDeviceFamilies } from "../options.js";
import { nestingSigns } from "../project/nesting.js";
import { nestingFor } from "../project/project-runner.js";
import { BubblewrapNativeRunner } from "../runners/bubblewrap.js";
import { LocalNativeRunner } from "../runners/local.js";
import { type ClonesProof, proveClones } from "../runtime/availability.js";
import type { RuntimeConfig } from "../runtime/config.js";
import { kDefaultRuntimeBinds } from "../runtime/config-schema.js";
import { ConfiguredRuntime } from "../runtime/configured-runtime.js";
import type { RuntimeSettings } from "../runtime/create.js";
import {
  type HostFacts,
  type MissingOption,
  missingBwrapOptions,
  readHostFacts,
} from "../runtime/host-facts.js";
import { bubblewrapKind, kKinds, unlessDefault } from "../runtime/kinds.js";
import {
  kConfiningNames,
  kRuntimeNames,
  type Runtime,
  type RuntimeAvailability,
  type RuntimeName,
} from "../runtime/runtime.js";
import { kDefaultRuntime, networkOf, type Policy } from "./policy.js";

const kRuns = 10;

/** One runtime in the report; `emptyRunMs` is set if it is available. */
export type DoctorRuntime = RuntimeAvailability & {
  name: RuntimeName;
  /** Median duration of ten sequential runs of `true`, in milliseconds. */
  emptyRunMs?: number;
  /** For available Bubblewrap: the result of testing its clones. */
  clones?: ClonesProof;
  /** For available Bubblewrap: the result of a run that had a secret. */
  secrets?: SecretsProof;
  /** For available Bubblewrap: options that this bwrap lacks, and the resulting limitations. */
  lacks?: MissingOption[];
};

/** Tells whether runs can have secrets and rules for requests. */
export type SecretsProof = {
  /** "proved": a command got a placeholder, and trusts the authority of its runner. */
  state: "proved" | "broken";
  /** Why it is not "proved". */
  reason?: string;
};

/** The setup that `native-runner run` would use with the same variables, --runtime and --config. */
export type DoctorRun = {
  /** Bubblewrap if none is selected; null if none of the permitted runtimes works here. */
  runtime: RuntimeName | null;
  /** The option, variable or file that selected it; null if none did. */
  chosenBy: string | null;
  network: BubblewrapNetwork;
  bwrapPath: string;
};

/** The whole report. `--json` prints it unchanged. */
export type DoctorReport = {
  version: string;
  /** Tells if this process is in a sandbox or container, and what `Bwrap` can do there. */
  nesting: DoctorNesting;
  /** `landlockAbi` is undefined if the native addon is missing. */
  host: HostFacts & { landlockAbi: number | undefined };
  runtimeType: RuntimeConfig["runtimeType"];
  required: boolean;
  /** The runtime that `createRuntime` would select; null if it would refuse. */
  chosen: RuntimeName | null;
  run: DoctorRun;
  runtimes: DoctorRuntime[];
  /** The tools of PATH that are not in the default mounts, and the entries of PATH that are not shown. */
  tools: DoctorTools;
  /** The families of the option `devices`; empty if Bubblewrap does not work here. */
  devices: DoctorDevices[];
  /** The bounds of runs that depend on the host; empty if Bubblewrap does not work here. */
  bounds: DoctorBound[];
  /** Warnings about the operator's variables. */
  warnings: string[];
};

function landlockAbi(): number | undefined {
  try {
    return loadAddon().landlockAbi();
  } catch {
    return undefined;
  }
}

/** Returns the lower median. */
export function median(values: readonly number[]): number | undefined {
  return [...values].sort((a, b) => a - b)[(values.length - 1) >> 1];
}

async function measure(runtime: Runtime): Promise<number | undefined> {
  return withFolder(async (shadowDir) => {
    const runner = runtime.runner({ shadowDir });
    const times: number[] = [];
    for (let run = 0; run < kRuns; run += 1) {
      const start = performance.now();
      await runner.exec({ argv: ["true"] });
      times.push(performance.now() - start);
    }
    return median(times);
  });
}

/** Returns the runtime that would be selected among these. Pure. */
export function chosenOf(
  { config, required }: Pick<RuntimeSettings, "config" | "required">,
  available: ReadonlySet<RuntimeName>,
): RuntimeName | null {
  const { runtimeType, allowFallbackToNative } = config;
  const asked: readonly RuntimeName[] = runtimeType === "auto" ? kConfiningNames : [runtimeType];
  const candidates = allowFallbackToNative ? [...asked, "native" as const] : asked;
  const mustConfine = required || config.required.length > 0;
  const fits = (name: RuntimeName) => available.has(name) && !(mustConfine && name === "native");
  return candidates.find(fits) ?? null;
}

/** No entry of PATH lies in it. */
const kNoWorkspace = "/nonexistent/workspace";

function runOf(
  { config, chosenBy }: Policy,
  chosen: RuntimeName | null,
  available: ReadonlySet<RuntimeName>,
): DoctorRun {
  const byDefault = available.has(kDefaultRuntime) ? kDefaultRuntime : null;
  const runtime = chosenBy === undefined ? byDefault : chosen;
  const network = networkOf(config, runtime ?? kDefaultRuntime);
  const { bwrapPath } = config.bubblewrap;
  return { runtime, chosenBy: chosenBy ?? null, network, bwrapPath };
}

/** Most runs are in clones: if clones do not confine, the runtime does not. */
function brokenBy(
  found: RuntimeAvailability,
  { reason, probes }: ClonesProof,
): RuntimeAvailability {
  const why = `in a clone, ${reason ?? "a test command got out"}`;
  const fix = 'set `clone` to "never", and tell us';
  return { ...found, available: false, state: "broken", reason: why, fix, probes };
}

/** Tests every runtime sequentially, so that the measured times are correct. */
export async function examine(version: string, policy: Policy): Promise<DoctorReport> {
  const { config, required, warnings } = policy;
  const runtimes: DoctorRuntime[] = [];
  for (const name of kRuntimeNames) {
    const runtime = new ConfiguredRuntime(kKinds[name], config);
    const proved = await runtime.isAvailable({ refresh: true });
    const clones =
      name === "bubblewrap" && proved.available ? await proveClones(config) : undefined;
    const found = clones?.state === "broken" ? brokenBy(proved, clones) : proved;
    const secrets =
      name === "bubblewrap" && found.available ? await proveSecrets(config) : undefined;
    const lacks =
      name === "bubblewrap" && proved.available ? await lackedByBwrap(config) : undefined;
    const emptyRunMs = found.available ? await measure(runtime) : undefined;
    runtimes.push({
      name,
      ...found,
      ...(emptyRunMs === undefined ? {} : { emptyRunMs }),
      ...(clones === undefined ? {} : { clones }),
      ...(secrets === undefined ? {} : { secrets }),
      ...(lacks === undefined ? {} : { lacks }),
    });
  }
  const names = runtimes.filter(({ available }) => available).map(({ name }) => name);
  const available = new Set(names);
  const chosen = chosenOf(policy, available);
  return {
    version,
    nesting: await examineNesting(config),
    host: { ...readHostFacts(), landlockAbi: landlockAbi() },
    runtimeType: config.runtimeType,
    required,
    chosen,
    run: runOf(policy, chosen, available),
    runtimes,
    tools: toolsOf(config),
    devices: available.has("bubblewrap") ? await devicesOf(config) : [],
    bounds: available.has("bubblewrap") ? await boundsOf(config) : [],
    warnings,
  };
}

// Prints the placeholder, and whether the authority is among the roots that programs are told to trust.
const kSecretScript = `printf '%s ' "$NATIVE_RUNNER_DOCTOR"; grep -c BEGIN "$NODE_EXTRA_CA_CERTS"`;

/** Runs a command that has a secret. Never rejects: an error becomes the reason. */
async function proveSecrets(config: RuntimeConfig): Promise<SecretsProof> {
  const host = "native-runner.invalid";
  const value = randomBytes(16).toString("hex");
  const secrets = [{ name: "NATIVE_RUNNER_DOCTOR", value, hosts: [host] }];
  // With the host's files: another root may have neither a shell nor grep.
  const network = { allow: [host], secrets };
  const bubblewrap = { ...config.bubblewrap, root: undefined, network };
  try {
    return await withFolder(async (shadowDir) => {
      const options = { shadowDir, envPolicy: "clean" as const, prewarm: 0 };
      const runner = bubblewrapKind.makeRunner({ ...config, bubblewrap }, options, []);
      const limits = { timeoutMs: kTimeoutMs };
      const ran = await runner
        .exec({ argv: ["sh", "-c", kSecretScript], limits })
        .finally(async () => {
          if (runner instanceof BubblewrapNativeRunner) await runner.close();
        });
      const [placeholder = "", roots = "0"] = ran.stdoutText.trim().split(" ");
      const isApart = placeholder.length === value.length && placeholder !== value;
      if (isApart && Number(roots) > 0) return { state: "proved" };
      const reason = `a command that has one saw something else: ${ran.outcome.kind}, ${ran.stderrText.trim()}`;
      return { state: "broken", reason };
    });
  } catch (error) {
    return { state: "broken", reason: error instanceof Error ? error.message : String(error) };
  }
}

/** The host's tools as Bubblewrap's commands find them. */
type DoctorTools = Pick<Found, "tools" | "leftOut">;

function toolsOf({ bubblewrap }: RuntimeConfig): DoctorTools {
  const roBinds = unlessDefault(bubblewrap.roBinds, kDefaultRuntimeBinds);
  const { home, tools, root, mounts } = bubblewrap;
  const shown = { shadowDir: kNoWorkspace, home, tools, roBinds, root, mounts };
  const found = new HomeSource(shown).found();
  return { tools: found?.tools ?? [], leftOut: found?.leftOut ?? [] };
}

/** Says whether this host can give commands a family of devices. */
type DoctorDevices = { family: string; available: boolean; reason?: string; fix?: string };

/** Plans a run with each family: that looks for its nodes, and starts nothing. */
async function devicesOf(config: RuntimeConfig): Promise<DoctorDevices[]> {
  return withFolder(async (shadowDir) => {
    const found: DoctorDevices[] = [];
    for (const family of kDeviceFamilies) {
      const { bwrapPath } = config.bubblewrap;
      const runner = new BubblewrapNativeRunner({ shadowDir, bwrapPath, devices: [family] });
      try {
        await runner.explain({ argv: ["true"] });
        found.push({ family, available: true });
      } catch (error) {
        const { message, fix } = error as SandboxError;
        const reason = message.replace(/^devices\[0\] names "\w+"(?: with)? ?/, "");
        found.push({ family, available: false, reason, ...(fix && { fix }) });
      } finally {
        await runner.close();
      }
    }
    return found;
  });
}

/** Says whether this host keeps a limit of runs in Bubblewrap, and how. */
type DoctorBound = {
  limit: keyof NativeLimits;
  kept: boolean;
  /** The mechanism that keeps the limit here; absent if none does. */
  by?: string;
  reason?: string;
  fix?: string;
};

const kByProcess = { memoryBytes: "RLIMIT_DATA, for each process", maxProcesses: "RLIMIT_NPROC" };

/** Limits with a value that a plan takes, and what keeps them; `group`: the path of the cgroup. */
const kBounds = [
  ["memoryBytes", 2 ** 30, (group: string) => `memory.max in ${group}`],
  ["maxProcesses", 100, (group: string) => `pids.max in ${group}`],
  ["cpuShare", 100, (group: string) => `cpu.weight in ${group}`],
  ["ioShare", 100, (group: string) => `io.weight in ${group}`],
  ["writeBytes", 2 ** 30, () => "counting what is allocated; exact in transactions"],
  ["reserveBytes", 1, () => "watching what is free"],
] as const;

/** Plans a run with each limit, in the directory of temporary files: that starts nothing. */
async function boundsOf(config: RuntimeConfig): Promise<DoctorBound[]> {
  const group = loadAddon().controlGroup() ?? "no cgroup";
  const { bwrapPath } = config.bubblewrap;
  return withFolder(async (shadowDir) => {
    const runner = new BubblewrapNativeRunner({ shadowDir, bwrapPath, prewarm: 0 });
    const found: DoctorBound[] = [];
    for (const [limit, value, by] of kBounds) {
      try {
        const { layers } = await runner.explain({ argv: ["true"], limits: { [limit]: value } });
        const isByProcess = layers.includes("rlimits") && limit in kByProcess;
        const how = isByProcess ? kByProcess[limit as keyof typeof kByProcess] : by(group);
        found.push({ limit, kept: true, by: how });
      } catch (error) {
        const { message, fix } = error as SandboxError;
        const reason = message.replace(/^limits\.\w+ can't be \w+(?: here)?: /, "");
        found.push({ limit, kept: false, reason, ...(fix && { fix }) });
      }
    }
    await runner.close();
    return found;
  });
}

/** The effect of being inside another sandbox. */
type DoctorNesting = {
  nested: boolean;
  /** The signs of it. */
  signs: string[];
  /** "private", or the outer sandbox's, read-only ("host"); null if no sandbox is possible. */
  proc: "private" | "host" | null;
  reason?: string;
  fix?: string;
};

/** Tries a sandbox inside the one that this process may be in. */
async function examineNesting(config: RuntimeConfig): Promise<DoctorNesting> {
  const signs = nestingSigns();
  const found = { nested: signs.length > 0, signs };
  try {
    const nesting = await withFolder((folder) =>
      nestingFor({
        bwrapPath: config.bubblewrap.bwrapPath,
        folders: [folder],
        projects: [folder],
        secrets: [],
        readOnly: [],
        network: "deny",
      }),
    );
    if (nesting.possible) return { ...found, proc: nesting.flags.hostProc ? "host" : "private" };
    const { reason, fix } = nesting;
    return { ...found, proc: null, reason, ...(fix === undefined ? {} : { fix }) };
  } catch (error) {
    return { ...found, proc: null, reason: error instanceof Error ? error.message : String(error) };
  }
}

const kTimeoutMs = 10_000;

/** Queries the features of the configured bwrap. @throws (rejects) if it does not answer. */
async function lackedByBwrap(config: RuntimeConfig): Promise<MissingOption[]> {
  return withFolder(async (shadowDir) => {
    const runner = new LocalNativeRunner({ shadowDir, envPolicy: "clean" });
    const argv = [config.bubblewrap.bwrapPath, "--help"];
    const { stdout, outcome } = await runner.exec({ argv, limits: { timeoutMs: kTimeoutMs } });
    if (outcome.kind !== "exited") throw new Error(`${argv.join(" ")}: ${outcome.kind}`);
    return missingBwrapOptions(new TextDecoder().decode(stdout));
  });
}

/**
 * Calls `use` with a new folder, which is removed afterwards.
 * @throws (rejects) if no directory can be created, for example with a read-only TMPDIR.
 */
async function withFolder<Value>(use: (folder: string) => Promise<Value>): Promise<Value> {
  const folder = await mkdtemp(join(await realpath(tmpdir()), "native-runner-doctor-"));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
