/**
 * The table of promises, run for one runtime: what promises/matrix.ts says that it keeps is shown to
 * be kept, and the rest not to be. A test for a further runtime is its column there and one line:
 * describePromises("its name", (options) => new ItsRunner(options)).
 */

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { RuntimeName } from "../../../lib/index.js";
import { isRoot } from "../support/requirements.js";
import { type MakeRunner, run } from "../support/results.js";
import { describeRuntime } from "../support/runtimes.js";
import { type Services, startServices } from "./host-services.js";
import { kernelRows } from "./kernel.js";
import { kMatrix, kPromiseNames } from "./matrix.js";
import { loopbackRows, networkRows } from "./network.js";
import { makeScene, type Scene } from "./probed-host.js";
import { processRows } from "./processes.js";
import { type Heading, type Promised, testRows } from "./promise.js";
import { readRows } from "./reads.js";
import { describeSurvival, type Exists, existsOnHost } from "./survival.js";
import { writeRows } from "./writes.js";

/** Set once, before tests read it. */
class Later<T> {
  #value: T | undefined;

  set(value: T): void {
    this.#value = value;
  }

  get = (): T => {
    if (this.#value === undefined) throw new Error("it is made in beforeAll");
    return this.#value;
  };
}

/** What is in force in a run, as the audit and the kernel say it. */
async function lookWhatIsInForce({ workspace }: Scene, make: MakeRunner): Promise<string[]> {
  const { result } = await run(make({ shadowDir: workspace }), ["true"]);
  const layers = result.audits?.[0]?.layers ?? [];
  const said = spawnSync(join(workspace, "probe"), ["landlock-abi"], { encoding: "utf8" });
  const abis = Array.from({ length: Number(said.stdout) }, (_, at) => `Landlock ABI ${at + 1}`);
  return [...layers, ...abis];
}

const refuses: Heading = { kept: "refuses a command that", not: "lets a command that" };
const lets: Heading = { kept: "lets a command", not: "does not let a command" };

/**
 * @param describeIt for a runtime that is tested although `auto` would not take it.
 * @param besides rows that hold where a pid namespace is in force, though the runtime promises less.
 * @param opened rows that the policy at hand lets through on purpose, by name.
 */
export function describePromises(
  runtime: RuntimeName,
  makeRunner: MakeRunner,
  describeIt: (name: string, body: () => void) => void = (_, body) =>
    describeRuntime(runtime, body),
  besides: readonly string[] = [],
  exists: Exists = existsOnHost,
  opened: readonly string[] = [],
): void {
  describeIt(runtime, () => {
    const scene = new Later<Scene>();
    const services = new Later<Services>();
    const inForce = new Later<string[]>();
    beforeAll(async () => {
      scene.set(makeScene(runtime === "bubblewrap" ? "/workspace" : undefined));
      services.set(await startServices(scene.get()));
      inForce.set(await lookWhatIsInForce(scene.get(), makeRunner));
    });
    afterAll(() => services.get().close());

    const seen = { scene: scene.get, inForce: inForce.get };
    const trial = { runtime, makeRunner, isRoot, besides, ...seen };
    const table: [string, Heading, Promised[]][] = [
      ["1: reading", refuses, readRows()],
      ["2: writing", refuses, writeRows()],
      ["2: other processes", refuses, processRows(services.get)],
      ["3: the kernel", refuses, kernelRows()],
      ["4: the network", refuses, networkRows(services.get)],
      ["4: its own network", lets, loopbackRows()],
    ];
    for (const [title, heading, rows] of table) {
      const reported = rows.filter(({ name }) => !opened.includes(name));
      describe(title, () => testRows(heading, reported, trial));
    }
    describeSurvival(scene.get, makeRunner, exists);

    test("is told of every promise", () => {
      const rows = table.flatMap(([, , each]) => each.map(({ promise }) => promise));
      const reported = new Set([...rows, "nothing-survives"]);
      const hostLacks = ["devices", "root-secrets"].filter((name) => !reported.has(name as never));
      expect([...reported, ...hostLacks].sort()).toEqual([...kPromiseNames].sort());
      expect(kMatrix["nothing-survives"][runtime].is).toBe("kept"); // all of survival.ts is
    });
  });
}
