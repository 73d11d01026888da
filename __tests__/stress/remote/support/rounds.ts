/** Rounds of a fault, in lanes beside one another; what is seen is counted, and each complaint kept. */

import { monitorEventLoopDelay } from "node:perf_hooks";
import { expect } from "vitest";

import { randomOf, seedOf } from "../../transactions/random.js";
import type { Verdict } from "./judge.js";
import { Machines, type PlannedRun } from "./machines.js";

/** Gives a number from 0 to below 1. */
export type Random = () => number;

/** Rounds of each kind of fault; NATIVE_RUNNER_ROUNDS asks for more than the suite's. */
export const roundsOf = (few: number) => Number(process.env.NATIVE_RUNNER_ROUNDS ?? few);

/** Lanes that go on beside one another; NATIVE_RUNNER_LANES asks for more than the suite's. */
const lanesOf = (few: number) => Number(process.env.NATIVE_RUNNER_LANES ?? few);

/** Does one round. */
type Round = (machines: Machines, random: Random) => Promise<Verdict>;

/**
 * @param few rounds, where nobody asks for more.
 * @param fewLanes lanes, where nobody asks for more.
 * @param prepare starts what a lane has, before its first round.
 */
export async function manyRounds(
  name: string,
  few: number,
  prepare: (machines: Machines) => Promise<void>,
  round: Round,
  fewLanes = 2,
): Promise<Record<string, number>> {
  const seed = seedOf();
  const rounds = roundsOf(few);
  const outcomes: Record<string, number> = {};
  const complaints: string[] = [];
  let next = 0;
  const lane = async (index: number) => {
    const random = randomOf(seed + index);
    // What is due comes as much too late in every process of a busy machine.
    const lateness = monitorEventLoopDelay({ resolution: 10 });
    lateness.enable();
    const machines = new Machines({ lateMs: () => lateness.max / 1e6 });
    await prepare(machines);
    try {
      while (next < rounds) {
        const number = next++;
        lateness.reset();
        const seen = await round(machines, random);
        for (const each of seen.complaints) {
          process.stdout.write(`${name}, round ${number}: ${each}\n`);
          complaints.push(`round ${number}: ${each}`);
        }
        for (const [kind, n] of Object.entries(seen.outcomes))
          outcomes[kind] = (outcomes[kind] ?? 0) + n;
      }
    } finally {
      lateness.disable();
      await machines.end();
    }
  };
  const lanes = Math.min(lanesOf(fewLanes), rounds);
  await Promise.all(Array.from({ length: lanes }, (_, index) => lane(index)));
  const reported = JSON.stringify(outcomes);
  process.stdout.write(
    `${name}: ${rounds} rounds (seed ${seed}): ${reported}, ${complaints.length} complaints\n`,
  );
  expect(complaints.join("\n"), `seed ${seed}`).toBe("");
  return outcomes;
}

/** Runs of all kinds, of different lengths. */
export function mixedRuns(count: number, random: Random, longest = 20): PlannedRun[] {
  const kinds = ["exec", "exec", "live", "spawn"] as const;
  return Array.from({ length: count }, (_, id) => ({
    id,
    kind: kinds[Math.floor(random() * kinds.length)] ?? "exec",
    steps: 1 + Math.floor(random() * longest),
    everyMs: 60,
    afterMs: Math.floor(random() * 300),
  }));
}
