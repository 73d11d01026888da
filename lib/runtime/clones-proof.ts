/** Proves that sandboxes can be cloned here: the canary, run in a clone. */

import { BubblewrapNativeRunner } from "../runners/bubblewrap.js";
import { LocalNativeRunner } from "../runners/local.js";
import { outsideOfWorkspace } from "./availability.js";
import { type MakeRunner, runCanary } from "./canary/canary.js";
import type { CanaryProbe } from "./canary/probe.js";
import { whyBroken } from "./canary/verdict.js";
import type { RuntimeConfig } from "./config/config.js";
import { bubblewrapKind } from "./kinds/bubblewrap.js";

/** Whether Bubblewrap's sandboxes are cloned under a configuration. */
export type ClonesProof = {
  /** "proved": they are. "unused": runs are cold. "broken": a test command got out of a clone. */
  state: "proved" | "unused" | "broken";
  /** Why it is not "proved". */
  reason?: string;
  /** What the canary tried in a clone. */
  probes: CanaryProbe[];
};

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

async function prove(
  config: RuntimeConfig,
  runners: BubblewrapNativeRunner[],
): Promise<ClonesProof> {
  const grants = bubblewrapKind.grants(config);
  if (grants === undefined) return { state: "unused", reason: "nothing is confined", probes: [] };
  let cold: string | undefined;
  const makeRunner: MakeRunner = (shadowDir) => {
    // A standing sandbox would do as well, and is no proof.
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

/** Never rejects: what goes wrong is the reason. */
export async function proveClones(config: RuntimeConfig): Promise<ClonesProof> {
  const runners: BubblewrapNativeRunner[] = [];
  try {
    return await prove(config, runners);
  } catch (error) {
    return { state: "unused", reason: messageOf(error), probes: [] };
  } finally {
    await Promise.all(runners.map((runner) => runner.close()));
  }
}
