/** Many runs in clones, ended at random moments, with templates that are killed meanwhile: one outcome each. */

import { setTimeout as delay } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";

import { cloning, kill, templates } from "../../integration/clones/cloning-runners.js";
import type {
  BubblewrapNativeRunner,
  NativeExecInput,
  Outcome,
  SandboxedExecResult,
} from "../../integration/support/package.js";
import { childrenOf, kMarker, marked, newMark } from "../../integration/support/processes.js";
import { describeSandboxed } from "../../integration/support/requirements.js";
import { tempDirectory } from "../../integration/support/temp.js";
import { eventually } from "../../support/waits.js";
import { randomOf, seedOf } from "../transactions/random.js";

const kRuns = Number(process.env.NATIVE_RUNNER_RUNS ?? 2000);
const kKilledRuns = 600;
const kAtOnce = 8;

/** Decisions that a seed repeats, though not their timing. */
class Random {
  readonly seed = seedOf();
  readonly #next = randomOf(this.seed);

  /** An integer from 0 to below `end`. */
  below(end: number): number {
    return Math.floor(this.#next() * end);
  }

  of<Choice>(choices: readonly Choice[]): Choice {
    const choice = choices[this.below(choices.length)];
    if (choice === undefined) throw new Error("there is nothing to choose from");
    return choice;
  }
}

type Kind = Outcome["kind"];
type Made = { input: NativeExecInput; may: readonly Kind[]; exitCode: number; out: string };

/** A command and how it may end, if nothing but its own deadline or abort comes between. */
function make(random: Random, mark: string): Made {
  const env = { [kMarker]: mark };
  const exitCode = random.below(100);
  const word = String(random.below(1_000_000));
  const naps = ["", "sleep 0.01;", "sleep 0.1;", "(setsid sleep 1000 &);"];
  const input: NativeExecInput = {
    argv: ["sh", "-c", `${random.of(naps)} echo ${word}; exit ${exitCode}`],
    env,
  };
  const made = { input, exitCode, out: `${word}\n` };
  const how = random.below(4);
  if (how === 0) {
    input.limits = { timeoutMs: 1 + random.below(40) };
    return { ...made, may: ["exited", "timed-out"] };
  }
  if (how === 1) {
    input.signal = AbortSignal.timeout(random.below(40));
    return { ...made, may: ["exited", "aborted"] };
  }
  if (how === 2) input.stdin = Buffer.alloc(random.below(200_000), "x");
  return { ...made, may: ["exited"] };
}

class Tally {
  readonly starts = new Map<string, number>();
  readonly kinds = new Map<string, number>();
  settled = 0;

  add({ outcome, audits: [audit] }: SandboxedExecResult): void {
    this.settled += 1;
    const count = (of: Map<string, number>, key: string) => of.set(key, (of.get(key) ?? 0) + 1);
    count(this.starts, audit?.start ?? "");
    count(this.kinds, outcome.kind);
  }
}

/** Runs `count` of them, some at once; `also` may come of what is done to the host meanwhile. */
async function runMany(
  runner: BubblewrapNativeRunner,
  random: Random,
  { count, mark, also = [] }: { count: number; mark: string; also?: readonly Kind[] },
): Promise<Tally> {
  const tally = new Tally();
  let begun = 0;
  const lane = async () => {
    while (begun < count) {
      begun += 1;
      const { input, may, exitCode, out } = make(random, mark);
      const result = await runner.exec(input);
      tally.add(result);
      const { outcome } = result;
      expect([...may, ...also], JSON.stringify([input, result.audits])).toContain(outcome.kind);
      if (outcome.kind !== "exited") continue;
      expect([result.exitCode, result.stdoutText]).toEqual([exitCode, out]);
    }
  };
  await Promise.all(Array.from({ length: kAtOnce }, lane));
  return tally;
}

async function expectNothingLeft(runner: BubblewrapNativeRunner, mark: string): Promise<void> {
  expect(marked(mark)).toEqual([]);
  await runner.close();
  expect(childrenOf(process.pid)).toEqual([]);
}

describeSandboxed("many runs in clones", () => {
  const random = new Random();
  afterEach((context) => {
    if (context.task.result?.state === "fail")
      process.stderr.write(`NATIVE_RUNNER_SEED=${random.seed}\n`);
  });

  test(`${kRuns}, ended at random moments, have one outcome each and leave nothing`, async () => {
    const mark = newMark();
    const runner = await cloning({ shadowDir: tempDirectory(), maxConcurrent: kAtOnce });
    const before = runner.metrics().runs;
    const tally = await runMany(runner, random, { count: kRuns, mark });
    expect(tally.settled).toBe(kRuns);
    expect([...tally.kinds.keys()].sort()).toEqual(["aborted", "exited", "timed-out"]);
    expect(tally.starts.get("cloned") ?? 0).toBeGreaterThan(kRuns / 2);
    const { runs } = runner.metrics();
    expect(runs.cloned - before.cloned).toBe(tally.starts.get("cloned"));
    await eventually("only the template stands", () => templates().length === 1);
    await expectNothingLeft(runner, mark);
  });

  test("500 at once are each what they are", async () => {
    const runner = await cloning({ shadowDir: tempDirectory(), maxConcurrent: 500 });
    const all = await Promise.all(
      Array.from({ length: 500 }, (_, i) =>
        runner.exec({ argv: ["sh", "-c", 'echo "$1"; exit $(($1 % 200))', "sh", String(i)] }),
      ),
    );
    for (const [i, result] of all.entries()) {
      expect([result.stdoutText, result.exitCode]).toEqual([`${i}\n`, i % 200]);
    }
    const starts = all.map(({ audits: [audit] }) => `${audit?.start} ${audit?.coldReason ?? ""}`);
    expect(starts.filter((start) => start === "cloned ").length).toBeGreaterThan(kAtOnce);
    // The template's socket holds so many requests; the others don't wait for it.
    const others = starts.filter((start) => start !== "cloned ");
    for (const start of others) expect(start).toMatch(/^cold sendmsg to the template: /);
    await runner.close();
    expect(childrenOf(process.pid)).toEqual([]);
  });

  test(`${kKilledRuns}, with templates that are killed at random moments`, async () => {
    const mark = newMark();
    const runner = await cloning({ shadowDir: tempDirectory(), maxConcurrent: kAtOnce });
    let isOver = false;
    let kills = 0;
    const killing = (async () => {
      while (!isOver) {
        await delay(random.below(150));
        const all = templates();
        if (isOver || all.length === 0) continue;
        const { bwrap, launcher } = random.of(all); // now and then that of a cold run
        kill(random.below(2) === 0 ? bwrap : launcher);
        kills += 1;
      }
    })();
    const also = ["signaled", "setup-failed"] as const;
    const tally = await runMany(runner, random, { count: kKilledRuns, mark, also });
    isOver = true;
    await killing;
    expect(tally.settled).toBe(kKilledRuns);
    expect(kills).toBeGreaterThan(5);
    expect(tally.kinds.get("exited") ?? 0).toBeGreaterThan(0);
    expect(tally.starts.get("cloned") ?? 0).toBeGreaterThan(0);
    const after = await runner.exec({ argv: ["echo", "whole"] });
    expect(after).toMatchObject({ outcome: { kind: "exited" }, stdoutText: "whole\n" });
    await expectNothingLeft(runner, mark);
  });
});
