/** `native-runner skill run`: dist/cli/main.js, as `npm run build` leaves it. */

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";

import type { TrustTier } from "../../../lib/index.js";
import { describeUnless } from "../support/requirements.js";
import { whyNoSecondWall } from "../support/runtimes.js";
import { buildSkills, type SkillPaths, testSkill } from "../support/skills.js";

const kMain = join(import.meta.dirname, "../../../dist/cli/main.js");

let paths: SkillPaths;
beforeAll(async () => {
  paths = await buildSkills(["echo", "json", "grows", "endless"]);
}, 120_000);

function skillRun(args: string[], input: string | Uint8Array = "", env: NodeJS.ProcessEnv = {}) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [kMain, "skill", "run", ...args], {
    encoding: "utf8",
    input,
    env: { ...process.env, ...env },
  });
  return { status, stdout, stderr };
}

function describeTier(tier: TrustTier): void {
  test("prints the output and nothing else", () => {
    const done = skillRun([paths.echo, "--tier", tier, "--input", "ö 42"]);
    expect(done).toEqual({ status: 0, stdout: "ö 42", stderr: "" });
  });

  test("takes the input from standard input", () => {
    const args = [paths.echo, "--tier", tier, "--input", "-"];
    expect(skillRun(args, "from stdin").stdout).toBe("from stdin");
    expect(skillRun(args, new Uint8Array([0xff, 0xfe]))).toMatchObject({ status: 2, stdout: "" });
  });

  test("prints the whole result as JSON", () => {
    const { stdout } = skillRun([paths.echo, "--tier", tier, "--input", "x", "--json"]);
    const result = JSON.parse(stdout);
    expect(result).toMatchObject({ output: "x", engine: "node", memoryPeakBytes: 65_536 });
    expect(result.walls).toHaveLength(tier === "untrusted" ? 2 : 1);
  });

  testSkill("json", "its failure is told with its own words", async () => {
    const done = skillRun([paths.json, "--tier", tier, "--input", "nonsense"]);
    expect(done).toMatchObject({ status: 1, stdout: "" });
    expect(done.stderr).toMatch(/expected \{.*\n.*exit code 3 \(ERR_SKILL_FAILED\)/);
  });

  test("a failure as JSON has its code", () => {
    const args = [paths.grows, "--tier", tier, "--memory", "2M", "--json"];
    const { status, stdout } = skillRun(args);
    expect(status).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      error: { code: "ERR_SKILL_LIMIT", limit: "memory", memoryPeakBytes: 2 * 1024 ** 2 },
    });
  });

  test("one that takes too long is ended: 124", () => {
    const { status, stderr } = skillRun([paths.endless, "--tier", tier, "--timeout", "1s"]);
    expect(stderr).toContain("ERR_SKILL_LIMIT");
    expect(status).toBe(124);
  });
}

describeUnless(whyNoSecondWall(), "--tier untrusted", () => describeTier("untrusted"));
describe("--tier verified", () => describeTier("verified"));

describe("refusals", () => {
  test("nothing untrusted without a sandbox: 125", () => {
    const done = skillRun([paths.echo], "", { OPENAGENTIC_SANDBOX_BACKEND: "none" });
    expect(done).toMatchObject({ status: 125, stdout: "" });
    expect(done.stderr).toMatch(/bubblewrap or landlock only/);
  });

  test("no such engine: 125", () => {
    const done = skillRun([paths.echo, "--engine", "wasmtime"], "", { PATH: "/not/there" });
    expect(done).toMatchObject({ status: 125, stdout: "" });
    expect(done.stderr).toMatch(/no wasmtime.*\nfix: install wasmtime/);
  });

  test.each([
    ["a file that is not there", ["/not/there.wasm"]],
    ["too little memory", ["PATH", "--memory", "1K"]],
    ["a skill among all else", ["/etc/skill.wasm"]],
  ])("%s: 2", (_, args) => {
    const done = skillRun(args.map((word) => (word === "PATH" ? paths.echo : word)));
    expect(done).toMatchObject({ status: 2, stdout: "" });
    expect(done.stderr).toMatch(/^native-runner: .*\n$/);
  });
});
