/** Determines if a runtime works here, by running a command in it. */

import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, normalize } from "node:path";

import { SandboxError } from "../errors.js";
import { BubblewrapNativeRunner } from "../runners/bubblewrap.js";
import { LocalNativeRunner } from "../runners/local.js";
import { type MakeRunner, runCanary } from "./canary.js";
import { type CanaryProbe, whyBroken } from "./canary-probes.js";
import type { RuntimeConfig } from "./config.js";
import { type HostFacts, installCommand, readHostFacts } from "./host-facts.js";
import { bubblewrapKind, type RuntimeKind } from "./kinds.js";
import { type RuntimeAvailability, type RuntimeState, withCause } from "./runtime.js";

const kNone: Pick<RuntimeAvailability, "layers" | "probes"> = { layers: [], probes: [] };

function not(
  state: Exclude<RuntimeState, "available">,
  reason: string,
  fix: string | undefined,
  found = kNone,
): RuntimeAvailability {
  return { available: false, state, reason, ...(fix === undefined ? {} : { fix }), ...found };
}

function fixOf(reason: string, kind: RuntimeKind, facts: HostFacts): string | undefined {
  if (/\brequired layer\b/.test(reason)) {
    return "leave it out of `required`, or choose a runtime that has it";
  }
  return kind.fix?.(reason, facts);
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

function whyThrown(error: unknown, kind: RuntimeKind, facts: HostFacts): RuntimeAvailability {
  const reason = messageOf(error);
  if (!(error instanceof SandboxError)) return withCause(not("broken", reason, undefined), error);
  const isMissing = error.code === "ERR_SANDBOX_UNAVAILABLE";
  const lacksProgram = kind.program !== undefined && /\bnot found\b/.test(reason);
  const fix = lacksProgram
    ? installCommand(facts.distribution, kind.program ?? "")
    : (fixOf(reason, kind, facts) ?? error.fix);
  return withCause(not(isMissing ? "missing" : "broken", reason, fix), error);
}

/** A runtime that confines nothing works if a command does. */
async function tryNative(): Promise<RuntimeAvailability> {
  const workspace = await mkdtemp(join(await realpath(tmpdir()), "native-runner-"));
  try {
    const { outcome, exitCode, audits } = await new LocalNativeRunner({
      shadowDir: workspace,
    }).exec({ argv: ["/bin/sh", "-c", "exit 0"] });
    const layers = audits[0]?.layers ?? [];
    if (outcome.kind === "exited" && exitCode === 0) {
      return { available: true, state: "available", layers, probes: [] };
    }
    const reason = outcome.kind === "setup-failed" ? outcome.reason : outcome.kind;
    return not("broken", reason, undefined);
  } finally {
    await rm(workspace, { recursive: true, force: true });
  }
}

/**
 * Returns the configuration without mounts inside the workspace: the canary's own workspace may lack their
 * mount points.
 */
function outsideOfWorkspace(config: RuntimeConfig): RuntimeConfig {
  const mounts = config.bubblewrap.mounts.filter(
    ({ hostPath, guestPath = hostPath }) => !normalize(guestPath).startsWith("/workspace/"),
  );
  return { ...config, bubblewrap: { ...config.bubblewrap, mounts } };
}

/** The configuration with the host's files: the canary needs a shell, which another root file system may lack. */
function withHostRoot(config: RuntimeConfig): RuntimeConfig {
  const { root: _, ...bubblewrap } = config.bubblewrap;
  return { ...config, bubblewrap };
}

/** Returns why no sandbox can be made with the configuration's own root file system, if it has one. */
async function whyNoRoot(
  kind: RuntimeKind,
  config: RuntimeConfig,
): Promise<{ reason: string; fix?: string | undefined } | undefined> {
  if (config.bubblewrap.root === undefined) return undefined;
  const shadowDir = await mkdtemp(join(await realpath(tmpdir()), "native-runner-"));
  try {
    const options = { shadowDir, envPolicy: "clean" } as const;
    const runner = kind.makeRunner(outsideOfWorkspace(config), options, []);
    // The program need not be there: only the sandbox has to be made.
    const { outcome } = await runner.exec({ argv: ["/bin/true"] });
    if (runner instanceof BubblewrapNativeRunner) await runner.close();
    return outcome.kind === "setup-failed" ? outcome : undefined;
  } finally {
    await rm(shadowDir, { recursive: true, force: true });
  }
}

async function prove(
  kind: RuntimeKind,
  asked: RuntimeConfig,
  facts: HostFacts,
): Promise<RuntimeAvailability> {
  const withoutRoot = await whyNoRoot(kind, asked);
  if (withoutRoot !== undefined) {
    return not("broken", withoutRoot.reason, withoutRoot.fix, kNone);
  }
  const config = withHostRoot(asked);
  const grants = kind.grants(config);
  if (grants === undefined) return tryNative();
  const report = await runCanary(
    (shadowDir) =>
      kind.makeRunner(outsideOfWorkspace(config), { shadowDir, envPolicy: "clean" }, []),
    (shadowDir) => new LocalNativeRunner({ shadowDir, envPolicy: "clean" }),
    grants,
  );
  if (report.kind === "failed") {
    const fix = fixOf(report.reason, kind, facts) ?? report.fix;
    return not("broken", report.reason, fix, { layers: report.layers, probes: [] });
  }
  const { layers, probes } = report;
  const reason = whyBroken(probes);
  if (reason === undefined) return { available: true, state: "available", layers, probes };
  return not("broken", reason, fixOf(reason, kind, facts), { layers, probes });
}

/** True for a value that no host would take: another runtime in its place would hide the mistake. */
const isMistake = (error: unknown) =>
  (error instanceof TypeError || error instanceof RangeError) &&
  /^ERR_(INVALID_ARG_|OUT_OF_RANGE)/.test((error as NodeJS.ErrnoException).code ?? "");

/**
 * Tests a runtime on this host; if the host lacks something, the result names it as the reason.
 * @throws (rejects) TypeError or RangeError for a wrong value in the configuration.
 */
export async function findAvailability(
  kind: RuntimeKind,
  config: RuntimeConfig,
): Promise<RuntimeAvailability> {
  const facts = readHostFacts();
  if (facts.platform !== "linux") {
    const fix = "use a Linux host, a container, a virtual machine, or WSL 2 on Windows";
    return not("missing", `${kind.title} needs Linux, this is ${facts.platform}`, fix);
  }
  try {
    return await prove(kind, config, facts);
  } catch (error) {
    if (isMistake(error)) throw error;
    return whyThrown(error, kind, facts);
  }
}

/** Proves that sandboxes can be cloned here by running the canary in a clone. */

/** Result of testing clones of Bubblewrap's sandboxes under a configuration. */
export type ClonesProof = {
  /** "proved": they are cloned. "unused": runs are cold. "broken": a test command escaped from a clone. */
  state: "proved" | "unused" | "broken";
  /** Why it is not "proved". */
  reason?: string;
  /** The probes of the canary in a clone. */
  probes: CanaryProbe[];
};

async function proveInClone(
  asked: RuntimeConfig,
  runners: BubblewrapNativeRunner[],
): Promise<ClonesProof> {
  const config = withHostRoot(asked);
  const grants = bubblewrapKind.grants(config);
  if (grants === undefined) return { state: "unused", reason: "nothing is confined", probes: [] };
  let cold: string | undefined;
  const makeRunner: MakeRunner = (shadowDir) => {
    // A prewarmed sandbox would also succeed, but proves nothing.
    const options = { shadowDir, envPolicy: "clean" as const, prewarm: 0 };
    const runner = bubblewrapKind.makeRunner(outsideOfWorkspace(config), options, []);
    if (!(runner instanceof BubblewrapNativeRunner)) return runner;
    runners.push(runner);
    return {
      exec: async (input) => {
        await runner.warm();
        const result = await runner.exec(input);
        const { start, coldReason } = result.audits[0] ?? {};
        if (start !== "cloned") cold = coldReason ?? "runs are cold";
        return result;
      },
    };
  };
  const makeControl: MakeRunner = (shadowDir) =>
    new LocalNativeRunner({ shadowDir, envPolicy: "clean" });
  const report = await runCanary(makeRunner, makeControl, grants);
  if (cold !== undefined) return { state: "unused", reason: cold, probes: [] };
  if (report.kind === "failed") return { state: "unused", reason: report.reason, probes: [] };
  const { probes } = report;
  const reason = whyBroken(probes);
  return reason === undefined ? { state: "proved", probes } : { state: "broken", reason, probes };
}

/** Never rejects: an error becomes the reason. */
export async function proveClones(config: RuntimeConfig): Promise<ClonesProof> {
  const runners: BubblewrapNativeRunner[] = [];
  try {
    return await proveInClone(config, runners);
  } catch (error) {
    return { state: "unused", reason: messageOf(error), probes: [] };
  } finally {
    await Promise.all(runners.map((runner) => runner.close()));
  }
}
