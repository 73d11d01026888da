/**
 * The second wall, shown to stand where the first has fallen: a hostile native program runs in the
 * engine's place. The same program as a verified skill, and without any runner, is the control.
 */

import { spawnSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { TrustTier } from "../../../lib/index.js";
import { eventually } from "../../support/waits.js";
import { type HostileScene, type Loot, makeHostileScene } from "../support/hostile-engine.js";
import { plainEnvironment } from "../support/requirements.js";
import { availabilityOf } from "../support/runtimes.js";
import { makeExecutor } from "../support/skills.js";

const kNothing: Loot = { read: 0, write: 0, beside: 0, connect: 0, see: 0, signal: 0, skill: 1 };
const kAll: Loot = { read: 1, write: 1, beside: 1, connect: 1, see: 1, signal: 1, skill: 1 };

let made: HostileScene | undefined;
const scene = (): HostileScene => {
  if (made === undefined) throw new Error("the scene is made in beforeAll");
  return made;
};
beforeAll(async () => {
  made = await makeHostileScene();
}, 60_000);
afterAll(() => made?.close());

type Runtime = "auto" | "bubblewrap" | "landlock";

async function raid(tier: TrustTier, runtime: Runtime = "auto"): Promise<[Loot, string[]]> {
  const executor = makeExecutor({ engine: scene().engine, runtime });
  const { output, walls } = await executor.execute(scene().skill(tier), "");
  return [JSON.parse(output) as Loot, [...walls]];
}

describe("as an untrusted skill", () => {
  test.for(["bubblewrap", "landlock"] as const)(
    "under %s it gets nothing but the skill and leaves nothing behind",
    async (runtime, context) => {
      const { available, reason = "not available" } = availabilityOf(runtime);
      if (!available) process.stderr.write(`skipped: a raid under ${runtime}: ${reason}\n`);
      if (!available) context.skip(reason);
      const [loot, walls] = await raid("untrusted", runtime);
      expect(walls).toEqual(["wasm", `os:${runtime}`]);
      expect(loot).toEqual(kNothing);
      expect(scene().tookWriting()).toEqual([]);
      expect(scene().survivors()).toEqual([]);
    },
  );
});

describe("as a verified skill", () => {
  test("it gets all of it, since the engine is the only wall", async () => {
    const [loot, walls] = await raid("verified");
    expect(walls).toEqual(["wasm"]);
    expect(loot).toEqual(kAll);
    expect(scene().tookWriting()).toHaveLength(2);
    expect(scene().survivors()).toEqual([]); // that promise is every runner's
  });
});

describe("without a runner", () => {
  test("it gets all of it, and outlives the call", async () => {
    const [program = "", ...args] = scene().argv;
    const { stdout } = spawnSync(program, args, { encoding: "utf8", env: plainEnvironment() });
    expect(JSON.parse(stdout)).toEqual(kAll);
    expect(scene().tookWriting()).toHaveLength(2);
    const survivors = scene().survivors();
    expect(survivors).toHaveLength(1);
    for (const pid of survivors) process.kill(pid, "SIGKILL");
    await eventually("the survivor is gone", () => scene().survivors().length === 0);
  });
});
