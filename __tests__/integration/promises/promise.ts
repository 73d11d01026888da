/**
 * One row of the table of promises: what a hostile command tries, what it must get under the runner
 * at hand, and a control, in which the same try succeeds: a probe that can't succeed proves nothing.
 */

import { describe, expect, test } from "vitest";

import type { RuntimeName } from "../../../lib/index.js";
import { LocalNativeRunner, type NativeExecInput } from "../support/package.js";
import { whyNoBubblewrap } from "../support/requirements.js";
import { type MakeRunner, type RunnerChoice, run, type Seen } from "../support/results.js";
import { LooseRunner } from "./loose-runner.js";
import { kMatrix, type Need, type PromiseName } from "./matrix.js";
import type { Scene } from "./probed-host.js";

/** A shell script, or an argv. */
type Command = string | readonly string[];

export type Promised = {
  /** Which promise it is a case of; matrix.ts says who keeps it. */
  promise: PromiseName;
  name: string;
  /** The try; `control` says who makes it, for what differs between the two. */
  command: (scene: Scene, isControl: boolean) => Command;
  input?: (scene: Scene) => Partial<NativeExecInput>;
  policy?: (scene: Scene) => Partial<RunnerChoice>;
  /** Checks that the promise was kept. */
  kept: (seen: Seen, scene: Scene) => void;
  /**
   * Who can: "local" without a sandbox; "loose" a capable bwrap, for what must not be tried on the
   * host; "inside" the same runner, with the command as its control form has it; or a wider policy.
   */
  control: "local" | "loose" | "inside" | ((scene: Scene) => Partial<RunnerChoice>);
  /** Checks that it succeeded there. */
  reached: (seen: Seen, scene: Scene) => void;
  /** Only root could do it even without a sandbox, so that there is nothing to tell for others. */
  onlyAsRoot?: true;
  /** A host may answer as a sandbox does, so that it tells nothing where that is not promised. */
  hostMayRefuse?: true;
  /** The command is to work: where it is not promised, it fails. */
  isFeature?: true;
};

/** Where rows are tried. */
export type Trial = {
  runtime: RuntimeName;
  makeRunner: MakeRunner;
  isRoot: boolean;
  scene: () => Scene;
  /** Rows that hold here besides, where the run has a pid namespace. */
  besides: readonly string[];
  /** What is in force in a run here, of what promises need. */
  inForce: () => readonly string[];
};

/** "refuses a command that", and when it is not promised. */
export type Heading = { kept: string; not: string };

async function tryControl(row: Promised, scene: Scene, makeRunner: MakeRunner): Promise<Seen> {
  const { control } = row;
  const shadowDir = scene.workspace;
  const policy = { shadowDir, ...row.policy?.(scene) };
  const command = row.command(scene, true);
  const input = row.input?.(scene) ?? {};
  if (control === "local") return run(new LocalNativeRunner({ shadowDir }), command, input);
  if (control === "loose") return run(new LooseRunner(shadowDir), command, input);
  if (control === "inside") return run(makeRunner(policy), command, input);
  return run(makeRunner({ ...policy, ...control(scene) }), command, input);
}

async function expectKept(row: Promised, { scene, makeRunner }: Trial): Promise<void> {
  const here = scene();
  const policy = { shadowDir: here.workspace, ...row.policy?.(here) };
  const seen = await run(makeRunner(policy), row.command(here, false), row.input?.(here));
  row.kept(seen, here);
  row.reached(await tryControl(row, here, makeRunner), here);
}

/** Not only is the promise not made, it does not hold: the same try gets through. */
async function expectNotKept(row: Promised, { scene, makeRunner }: Trial): Promise<void> {
  const here = scene();
  const policy = { shadowDir: here.workspace, ...row.policy?.(here) };
  const command = row.command(here, false);
  const isSameTry = JSON.stringify(command) === JSON.stringify(row.command(here, true));
  const seen = await run(makeRunner(policy), command, row.input?.(here));
  expect(() => row.kept(seen, here), "it holds: make it a promise in matrix.ts").toThrow();
  if (isSameTry && !row.isFeature) row.reached(seen, here);
}

/** Where it is not refused it would change the host, or a refusal would not be the runtime's. */
function isForSandboxes({ control, hostMayRefuse }: Promised): boolean {
  return hostMayRefuse === true || control === "loose" || control === "inside";
}

function needsOf(
  { promise, name }: Promised,
  { runtime, besides }: Trial,
): readonly Need[] | undefined {
  if (besides.includes(name)) return ["pid-namespace"];
  const keeping = kMatrix[promise][runtime];
  return keeping.is === "kept" ? (keeping.needs ?? []) : undefined;
}

/** One test for each row that can tell something for this user. */
export function testRows(heading: Heading, rows: readonly Promised[], trial: Trial): void {
  const reported = rows.filter((row) => trial.isRoot || !row.onlyAsRoot);
  const promised = reported.filter((row) => needsOf(row, trial) !== undefined);
  const others = reported.filter((row) => needsOf(row, trial) === undefined);
  if (promised.length > 0) {
    describe(heading.kept, () => {
      for (const row of promised) testPromised(row, trial);
    });
  }
  const untried = others.filter(isForSandboxes);
  if (untried.length > 0) {
    const names = untried.map(({ name }) => name).join(", ");
    process.stderr.write(
      `not promised, nor tried on the host: ${trial.runtime} ${heading.not} ${names}\n`,
    );
  }
  const tried = others.filter((row) => !untried.includes(row));
  if (tried.length > 0) {
    describe(heading.not, () => {
      for (const row of tried) test(row.name, () => expectNotKept(row, trial));
    });
  }
}

function testPromised(row: Promised, trial: Trial): void {
  const needs = needsOf(row, trial) ?? [];
  const name = needs.length === 0 ? row.name : `${row.name} (with ${needs.join(" or ")})`;
  const lacks = row.control === "loose" ? whyNoBubblewrap : undefined;
  test(name, async (context) => {
    context.skip(lacks !== undefined, `its control needs bwrap: ${lacks}`);
    const isInForce = needs.length === 0 || needs.some((need) => trial.inForce().includes(need));
    await (isInForce ? expectKept : expectNotKept)(row, trial);
  });
}

/** The probe answered with one of these errno names. */
export const says =
  (...answers: string[]) =>
  (seen: Seen): void => {
    expect(answers, seen.err).toContain(seen.out);
    expect(seen.exitCode).toBe(0);
  };

/** The probe was answered, by whatever but these. */
export const saysOtherThan =
  (...answers: string[]) =>
  (seen: Seen): void => {
    expect(answers).not.toContain(seen.out);
    expect(seen).toMatchObject({ exitCode: 0, err: "" });
  };
