/** Engines that are programs of their own, where they are on PATH: the same skills, the same codes. */

import { beforeAll, expect } from "vitest";

import type { SkillLimits, TrustTier } from "../../../lib/index.js";
import { findEngine } from "../../../lib/skills/engines/choice.js";
import { describeUnless } from "../support/requirements.js";
import { whyNoSecondWall } from "../support/runtimes.js";
import {
  buildSkills,
  makeExecutor,
  type SkillName,
  type SkillPaths,
  testSkill,
} from "../support/skills.js";

const kMiB = 1024 ** 2;
const kNames = ["wasmtime", "wasmedge", "wasmer", "iwasm"] as const;
type Name = (typeof kNames)[number];

let paths: SkillPaths | undefined;
const found = kNames.filter((name) => findEngine(name, undefined) !== undefined);
beforeAll(async () => {
  if (found.length > 0) paths = await buildSkills();
}, 120_000);

function describeEngine(engine: Name, trustTier: TrustTier): void {
  const executor = makeExecutor({ engine });
  const run = async (name: SkillName, input = "", limits: SkillLimits = {}) => {
    if (paths === undefined) throw new Error("the skills are built in beforeAll");
    const resourceLimits = { maxMemoryBytes: 64 * kMiB, maxDurationMs: 10_000, ...limits };
    const skill = { manifest: { name }, wasmPath: paths[name], trustTier, resourceLimits };
    return executor.execute(skill, input);
  };
  const refused = (name: SkillName, error: object, input?: string, limits?: SkillLimits) =>
    expect(run(name, input, limits)).rejects.toMatchObject({ engine, ...error });
  const kFailed = { code: "ERR_SKILL_FAILED" };
  const limited = (limit: string) => ({ code: "ERR_SKILL_LIMIT", limit });
  const { enforces } = findEngine(engine, undefined) ?? { enforces: undefined };

  testSkill("echo", "gives back what it is given", async () => {
    expect(await run("echo", 'ö "x"')).toMatchObject({ output: 'ö "x"', engine });
  });
  testSkill("json", "transforms, and fails", async () => {
    expect((await run("json", '{"a": 1, "b": 41}')).output).toBe('{"sum":42}');
    await refused("json", { ...kFailed, exitCode: 3 }, "nonsense");
  });
  testSkill("endless", "is ended at its time", () =>
    refused("endless", limited("time"), "", { maxDurationMs: 2000 }),
  );
  testSkill("endless", "is ended without fuel", () =>
    refused("endless", limited("fuel"), "", { maxFuel: 1_000_000 }),
  );
  testSkill("hog", "gets no more than its memory", () =>
    refused("hog", enforces?.memory ? limited("memory") : { name: "SkillError" }),
  );
  testSkill("deep", "has a call stack that ends", () => refused("deep", kFailed));
  testSkill("traps", "fails", () => refused("traps", kFailed));
  testSkill("invalid", "fails", () => refused("invalid", kFailed));
  testSkill("forged", "prints an answer, which is its output", async () => {
    expect((await run("forged", "succeed")).output).toContain('"forged"');
    await refused("forged", { ...kFailed, exitCode: 9 }, "fail");
  });
  testSkill("passwd", "finds no file, no directory and no descriptor", async () => {
    expect((await run("passwd")).output).toBe("done");
  });
  testSkill("pours", "is ended at the limit of its output", () =>
    refused("pours", limited("output"), "50"),
  );
}

for (const name of kNames) {
  const whyMissing = found.includes(name) ? undefined : `there is no ${name} on PATH`;
  const whyNotUntrusted = whyMissing ?? whyNoSecondWall();
  describeUnless(whyMissing, `${name}, verified`, () => describeEngine(name, "verified"));
  describeUnless(whyNotUntrusted, `${name}, untrusted`, () => describeEngine(name, "untrusted"));
}
