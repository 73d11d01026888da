/**
 * One row of the table of promises: what a hostile command tries, what it must get under the runner
 * at hand, and a control, in which the same try succeeds: a probe that can't succeed proves nothing.
 */

import { expect, test } from "vitest";

import { LocalNativeRunner, type NativeExecInput } from "../support/package.js";
import { type MakeRunner, type RunnerChoice, run, type Seen } from "../support/seen.js";
import { LooseRunner } from "./loose.js";
import type { Scene } from "./scene.js";

/** A shell script, or an argv. */
type Command = string | readonly string[];

export type Promised = {
  name: string;
  /** The try; `control` says who makes it, for what differs between the two. */
  command: (scene: Scene, isControl: boolean) => Command;
  input?: (scene: Scene) => Partial<NativeExecInput>;
  policy?: (scene: Scene) => Partial<RunnerChoice>;
  /** Checks that the try failed. */
  refused: (seen: Seen, scene: Scene) => void;
  /**
   * Who can: "local" without a sandbox; "loose" a capable bwrap, for what must not be tried on the
   * host; "inside" the same runner, with the command as its control form has it; or a wider policy.
   */
  control: "local" | "loose" | "inside" | ((scene: Scene) => Partial<RunnerChoice>);
  /** Checks that it succeeded there. */
  reached: (seen: Seen, scene: Scene) => void;
  /** Only root could do it even without a sandbox, so that there is nothing to tell for others. */
  onlyAsRoot?: true;
};

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

/** One test for each row that can tell something for this user. */
export function testRows(
  rows: readonly Promised[],
  scene: () => Scene,
  makeRunner: MakeRunner,
  isRoot: boolean,
): void {
  for (const row of rows.filter((each) => isRoot || !each.onlyAsRoot)) {
    test(row.name, async () => {
      const here = scene();
      const policy = { shadowDir: here.workspace, ...row.policy?.(here) };
      const seen = await run(makeRunner(policy), row.command(here, false), row.input?.(here));
      row.refused(seen, here);
      row.reached(await tryControl(row, here, makeRunner), here);
    });
  }
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
