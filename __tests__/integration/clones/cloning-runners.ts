/** Runners whose runs are cloned from a template, and the processes of their templates. */

import { expect } from "vitest";

import { eventually } from "../../support/waits.js";
import {
  BubblewrapNativeRunner,
  type BubblewrapNativeRunnerOptions,
  type NativeExecInput,
  type NativeRunner,
  type SandboxedExecResult,
  type SandboxStart,
} from "../support/package.js";
import { childrenOf } from "../support/processes.js";
import type { RunnerChoice } from "../support/results.js";

type Runs = { exec(input: NativeExecInput): Promise<SandboxedExecResult> };

export const startOf = ({ audits: [audit] }: SandboxedExecResult): SandboxStart | undefined =>
  audit?.start;

/** Runs `true` until a run is a clone; the reasons why those before it were none. */
export async function untilCloned(runner: Runs): Promise<string[]> {
  const reasons: string[] = [];
  await eventually(
    () => `a run is cloned; those that were not: ${[...new Set(reasons)].join("; ")}`,
    async () => {
      const [audit] = (await runner.exec({ argv: ["true"] })).audits;
      if (audit?.start === "cloned") return true;
      reasons.push(`${audit?.start}: ${audit?.coldReason}`);
      return false;
    },
  );
  return reasons;
}

/** A runner whose next run is a clone. */
export async function cloning(
  options: BubblewrapNativeRunnerOptions,
): Promise<BubblewrapNativeRunner> {
  const runner = new BubblewrapNativeRunner({ prewarm: 0, ...options });
  await untilCloned(runner);
  return runner;
}

/** Each run a clone, whatever comes. */
export class ClonedRunner implements NativeRunner {
  readonly #options: BubblewrapNativeRunnerOptions;

  constructor(options: RunnerChoice) {
    this.#options = { ...options, prewarm: 0 };
  }

  async exec(input: NativeExecInput): Promise<SandboxedExecResult> {
    const runner = await cloning(this.#options);
    try {
      const result = await runner.exec(input);
      expect(result.audits[0]).toMatchObject({ start: "cloned", prewarmed: false });
      expect(result.audits[0]).not.toHaveProperty("coldReason");
      return result;
    } finally {
      await runner.close();
    }
  }
}

export type TemplateProcess = {
  /** Our child, which waits for the template. */
  bwrap: number;
  /** Its child, whose own are the clones. */
  launcher: number;
};

/** The templates of our runners, where nothing else of ours runs but clones. */
export function templates(): TemplateProcess[] {
  return childrenOf(process.pid).flatMap((bwrap) =>
    childrenOf(bwrap).map((launcher) => ({ bwrap, launcher })),
  );
}

/** The only one, once there is just one. */
export async function theTemplate(): Promise<TemplateProcess> {
  await eventually("there is one template", () => templates().length === 1);
  const [template] = templates();
  if (template === undefined) throw new Error("the template has ended");
  return template;
}

/** SIGKILL for what may have ended by itself. */
export function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
