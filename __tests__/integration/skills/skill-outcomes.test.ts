/** What becomes of real modules, in every tier and under every runtime that works here. */

import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type {
  SkillError,
  SkillExecutionResult,
  SkillLimits,
  TrustTier,
  WasmSkillExecutor,
} from "../../../lib/index.js";
import { describeUnless } from "../support/requirements.js";
import { whyNo } from "../support/runtimes.js";
import {
  buildSkills,
  makeExecutor,
  type SkillName,
  type SkillPaths,
  testSkill,
} from "../support/skills.js";
import { tempDirectory } from "../support/temp.js";

const kMiB = 1024 ** 2;
const kSoon = { maxDurationMs: 1000 };

let paths: SkillPaths | undefined;
beforeAll(async () => {
  paths = await buildSkills();
}, 120_000);

type Way = { tier: TrustTier; executor: WasmSkillExecutor; walls: string[] };

/** Runs a skill by name. */
async function execute(
  { tier, executor }: Way,
  name: SkillName,
  input = "",
  resourceLimits: SkillLimits = {},
): Promise<SkillExecutionResult> {
  if (paths === undefined) throw new Error("the skills are built in beforeAll");
  const limits = { maxMemoryBytes: 64 * kMiB, ...resourceLimits };
  const skill = { manifest: { name }, wasmPath: paths[name], trustTier: tier };
  return executor.execute({ ...skill, resourceLimits: limits }, input);
}

function describeSkills(way: Way): void {
  const run = (name: SkillName, input?: string, limits?: SkillLimits) =>
    execute(way, name, input, limits);
  const refused = (
    name: SkillName,
    error: Partial<SkillError>,
    input?: string,
    limits?: SkillLimits,
  ) =>
    expect(run(name, input, limits)).rejects.toMatchObject({
      name: "SkillError",
      walls: way.walls,
      engine: "node",
      ...error,
    });
  const failed = (reason: RegExp): Partial<SkillError> => ({
    code: "ERR_SKILL_FAILED",
    message: expect.stringMatching(reason) as unknown as string,
  });
  const limited = (limit: SkillError["limit"]): Partial<SkillError> => ({
    code: "ERR_SKILL_LIMIT",
    limit,
  });

  testSkill("echo", "gives back what it is given, byte by byte", async () => {
    const input = `ö 😀 \0 "quoted" \\ \n${"long ".repeat(50_000)}`;
    const result = await run("echo", input);
    expect(result).toMatchObject({ output: input, engine: "node", walls: way.walls, stderr: "" });
    expect(result.memoryPeakBytes).toBe(65_536);
    expect(result.durationMs).toBeGreaterThan(0);
    expect(result.enforced).toMatchObject({ memory: "engine", time: "supervisor" });
  });

  testSkill("json", "transforms", async () => {
    expect((await run("json", '{"a": 1, "b": 41}')).output).toBe('{"sum":42}');
  });

  testSkill("json", "fails with its exit code and its words", async () => {
    await refused(
      "json",
      {
        ...failed(/exit code 3/),
        exitCode: 3,
        stderr: expect.stringContaining("expected {") as unknown as string,
      },
      "nonsense",
    );
  });

  testSkill("endless", "is ended at its time", () =>
    refused("endless", limited("time"), "", kSoon),
  );

  testSkill("sleeps", "is ended at its time", () => refused("sleeps", limited("time"), "", kSoon));

  testSkill("hog", "gets no more than its memory", async () => {
    await refused("hog", limited("memory"));
    const error: SkillError = await run("hog").then(
      () => expect.fail("it ended well"),
      (caught) => caught,
    );
    expect(error.memoryPeakBytes).toBeGreaterThan(48 * kMiB);
    expect(error.memoryPeakBytes).toBeLessThanOrEqual(64 * kMiB);
    expect(error.stderr).toContain("no memory after");
  });

  testSkill("grows", "is told to be short of memory", () => refused("grows", limited("memory")));

  testSkill("huge", "does not start with more memory than it may have", async () => {
    await refused("huge", limited("memory"));
    expect((await run("huge", "", { maxMemoryBytes: 2048 * kMiB })).output).toBe("");
  });

  testSkill("tables", "is bounded outside of its memory, too", async () => {
    const code: unknown = expect.stringMatching(/^ERR_SKILL_(LIMIT|FAILED)$/);
    const run = execute(way, "tables", "", { maxDurationMs: 10_000 });
    // A worker can't hold a table: the module has a process also where it is verified.
    const audits: unknown = [expect.objectContaining({ kind: "native.exec" })];
    await expect(run).rejects.toMatchObject({ code, audits });
  });

  testSkill("deep", "has a call stack that ends", () => refused("deep", failed(/stack/)));

  testSkill("forged", "prints an answer, which is its output", async () => {
    const result = await run("forged", "succeed");
    expect(JSON.parse(result.output)).toMatchObject({ success: true, output: "forged" });
    expect(result).not.toHaveProperty("fuelConsumed");
    expect(result.durationMs).toBeGreaterThan(0);
  });

  testSkill("forged", "prints an answer and fails", () =>
    refused("forged", { ...failed(/exit code 9/), exitCode: 9 }, "fail"),
  );

  testSkill("passwd", "finds no file, no directory and no descriptor", async () => {
    expect((await run("passwd")).output).toBe("done");
  });

  testSkill("traps", "fails", () => refused("traps", failed(/trap: unreachable/)));

  testSkill("invalid", "is no module", () => refused("invalid", failed(/WebAssembly/)));

  testSkill("imports", "is told what it can't have", () =>
    refused("imports", failed(/env\.system/)),
  );

  testSkill("bytes", "is told that its output is no text", () =>
    refused("bytes", { code: "ERR_SKILL_PROTOCOL" }),
  );

  testSkill("pours", "is ended at the limit of its output", () =>
    refused("pours", limited("output"), "50"),
  );

  testSkill("pours", "gives all of 50 MiB where that is allowed", async () => {
    const limits = { maxOutputBytes: 50 * kMiB };
    expect((await run("pours", "50", limits)).output).toHaveLength(50 * kMiB);
    await refused("pours", limited("output"), "50", { maxOutputBytes: 50 * kMiB - 1 });
  });

  testSkill("drips", "writes a byte at a time", async () => {
    expect((await run("drips")).output).toBe("x".repeat(2 ** 20));
  });

  testSkill("endless", "has its fuel kept by the operating system, which is reported", async () => {
    const limits = { maxFuel: 1_000_000, maxDurationMs: 20_000 };
    await refused("endless", limited("fuel"), "", limits);
    const { enforced, audits } = await run("echo", "x", limits);
    expect(enforced.fuel).toBe("os: 1 s of CPU time");
    expect(audits).toHaveLength(1);
  });

  test("strict limits refuse fuel that the engine has no meter for", async () => {
    const strict = { ...way, executor: makeExecutor({ engine: "node", strictLimits: true }) };
    await expect(execute(strict, "echo", "x", { maxFuel: 1e9 })).rejects.toMatchObject({
      code: "ERR_SKILL_ENGINE",
      fix: expect.stringContaining("wasmtime"),
    });
    expect((await execute({ ...strict, tier: "verified" }, "echo", "x")).output).toBe("x");
  });

  test("an aborted call ends", async () => {
    if (paths === undefined) return;
    const abort = new AbortController();
    const skill = { manifest: { name: "endless" }, wasmPath: paths.endless, trustTier: way.tier };
    const run = way.executor.execute(skill, "", { signal: abort.signal });
    setTimeout(() => abort.abort(), 300);
    await expect(run).rejects.toMatchObject({ code: "ERR_SKILL_ABORTED" });
    await expect(
      way.executor.execute(skill, "", { signal: AbortSignal.abort() }),
    ).rejects.toMatchObject({ code: "ERR_SKILL_ABORTED" });
  });

  test("the host goes on while a skill loops", async () => {
    const run = execute(way, "endless", "", kSoon).catch((error: SkillError) => error.limit);
    const first = await Promise.race([run, delay(50, "the host's timer")]);
    expect(first).toBe("the host's timer");
    expect(await run).toBe("time");
  });

  test("many calls at once do not disturb each other", async () => {
    const inputs = Array.from({ length: 12 }, (_, index) => `input ${index}`);
    const results = await Promise.all(inputs.map((input) => run("echo", input)));
    expect(results.map(({ output }) => output)).toEqual(inputs);
  });
}

describe("verified, in a worker", () => {
  const way: Way = { tier: "verified", executor: makeExecutor(), walls: ["wasm"] };
  afterAll(() => way.executor.close());
  describeSkills(way);

  test("has no process of its own", async () => {
    expect((await execute(way, "echo", "x")).audits).toEqual([]);
  });

  test("a file that changes is another module, and the cache keeps the two apart", async () => {
    if (paths === undefined) return;
    const wasmPath = join(tempDirectory("changing"), "changing.wasm");
    const skill = { manifest: { name: "changing" }, wasmPath, trustTier: way.tier };
    const call = () => way.executor.execute(skill, "x").then(({ output }) => output);
    for (let round = 0; round < 2; round += 1) {
      copyFileSync(paths.echo, wasmPath);
      expect(await call()).toBe("x");
      copyFileSync(paths.traps, wasmPath);
      await expect(call()).rejects.toMatchObject({ code: "ERR_SKILL_FAILED" });
    }
  });

  test("one that may have more memory is not the one that may not", async () => {
    const limits = { maxMemoryBytes: 128 * 1024 };
    for (const more of [4, 2, 4]) {
      const maxMemoryBytes = more * limits.maxMemoryBytes;
      await expect(execute(way, "grows", "", { maxMemoryBytes })).rejects.toMatchObject({
        memoryPeakBytes: maxMemoryBytes,
      });
    }
  });

  test("is refused once the executor is closed", async () => {
    const executor = makeExecutor();
    expect((await execute({ ...way, executor }, "echo", "x")).output).toBe("x");
    await executor.close();
    for (const tier of ["verified", "untrusted"] as const) {
      await expect(execute({ ...way, tier, executor }, "echo", "x")).rejects.toMatchObject({
        code: "ERR_SKILL_ENGINE",
        message: "the executor is closed",
      });
    }
  });

  test("an aborted call that waits for a worker does not wait any longer", async () => {
    if (paths === undefined) return;
    const executor = makeExecutor({ maxWorkers: 1 });
    const { endless, echo } = paths;
    const skill = (wasmPath: string) => ({
      manifest: { name: "any" },
      wasmPath,
      trustTier: way.tier,
    });
    const [first, last] = [new AbortController(), new AbortController()];
    const running = executor.execute(skill(endless), "", { signal: first.signal });
    const waiting = executor.execute(skill(endless), "", { signal: last.signal });
    const next = executor.execute(skill(echo), "x");
    let isRunning = true;
    const ended = running.catch((error: unknown) => {
      isRunning = false;
      return error;
    });
    setTimeout(() => last.abort(), 300);
    await expect(waiting).rejects.toMatchObject({ code: "ERR_SKILL_ABORTED" });
    expect(isRunning).toBe(true);
    first.abort();
    expect(await ended).toMatchObject({ code: "ERR_SKILL_ABORTED" });
    expect((await next).output).toBe("x");
    await executor.close();
  });
});

function describeUntrusted(runtime: "bubblewrap" | "landlock"): void {
  const executor = makeExecutor({ runtime });
  describeSkills({ tier: "untrusted", executor, walls: ["wasm", `os:${runtime}`] });

  test("leaves a record of the process and its layers", async () => {
    const way: Way = { tier: "untrusted", executor, walls: [] };
    const { audits } = await execute(way, "echo", "x");
    expect(audits).toMatchObject([{ kind: "native.exec", runtime, outcome: "exited" }]);
    const walls = { bubblewrap: "network-namespace", landlock: "no-sockets" };
    const layers = [walls[runtime], "no-capabilities", "no-new-privs", "seccomp"];
    expect(audits[0]?.layers).toEqual(expect.arrayContaining(layers));
  });
}

for (const runtime of ["bubblewrap", "landlock"] as const) {
  describeUnless(whyNo(runtime), `untrusted, under ${runtime}`, () => describeUntrusted(runtime));
}
