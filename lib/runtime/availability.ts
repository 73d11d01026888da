/** Finds out whether a runtime works here, by running something in it. */

import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, normalize } from "node:path";

import { SandboxError } from "../errors.js";
import { LocalNativeRunner } from "../runners/local.js";
import { runCanary } from "./canary/canary.js";
import { whyBroken } from "./canary/verdict.js";
import { withCause } from "./cause.js";
import type { RuntimeConfig } from "./config/config.js";
import { installCommand } from "./diagnosis/distribution.js";
import { type HostFacts, readHostFacts } from "./diagnosis/facts.js";
import type { RuntimeKind } from "./kinds/kind.js";
import type { RuntimeAvailability, RuntimeState } from "./runtime.js";

const kNone: Pick<RuntimeAvailability, "layers" | "probes"> = { layers: [], probes: [] };

function not(
  state: Exclude<RuntimeState, "available">,
  reason: string,
  fix: string | undefined,
  found = kNone,
): RuntimeAvailability {
  return { available: false, state, reason, ...(fix === undefined ? {} : { fix }), ...found };
}

function fixOf(
  reason: string,
  kind: RuntimeKind,
  config: RuntimeConfig,
  facts: HostFacts,
): string | undefined {
  if (/\brequired layer\b/.test(reason)) {
    return "leave it out of `required`, or choose a runtime that has it";
  }
  return kind.fix?.(reason, facts, config);
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

function whyThrown(
  error: unknown,
  kind: RuntimeKind,
  config: RuntimeConfig,
  facts: HostFacts,
): RuntimeAvailability {
  const reason = messageOf(error);
  if (!(error instanceof SandboxError)) return withCause(not("broken", reason, undefined), error);
  const isMissing = error.code === "ERR_SANDBOX_UNAVAILABLE";
  const lacksProgram = kind.program !== undefined && /\bnot found\b/.test(reason);
  const fix = lacksProgram
    ? installCommand(facts.distribution, kind.program ?? "")
    : (fixOf(reason, kind, config, facts) ?? error.fix);
  return withCause(not(isMissing ? "missing" : "broken", reason, fix), error);
}

/** A runtime that confines nothing works when a command does. */
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

/** The canary has a workspace of its own, which may lack the directories for mounts in it. */
export function outsideOfWorkspace(config: RuntimeConfig): RuntimeConfig {
  const mounts = config.bubblewrap.mounts.filter(
    ({ hostPath, guestPath = hostPath }) => !normalize(guestPath).startsWith("/workspace/"),
  );
  return { ...config, bubblewrap: { ...config.bubblewrap, mounts } };
}

async function prove(
  kind: RuntimeKind,
  config: RuntimeConfig,
  facts: HostFacts,
): Promise<RuntimeAvailability> {
  const grants = kind.grants(config);
  if (grants === undefined) return tryNative();
  const report = await runCanary(
    (shadowDir) =>
      kind.makeRunner(outsideOfWorkspace(config), { shadowDir, envPolicy: "clean" }, []),
    (shadowDir) => new LocalNativeRunner({ shadowDir, envPolicy: "clean" }),
    grants,
  );
  if (report.kind === "failed") {
    const fix = fixOf(report.reason, kind, config, facts) ?? report.fix;
    return not("broken", report.reason, fix, { layers: report.layers, probes: [] });
  }
  const { layers, probes } = report;
  const reason = whyBroken(probes);
  if (reason === undefined) return { available: true, state: "available", layers, probes };
  return not("broken", reason, fixOf(reason, kind, config, facts), { layers, probes });
}

/** Never rejects: what goes wrong is the reason. */
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
    return whyThrown(error, kind, config, facts);
  }
}
