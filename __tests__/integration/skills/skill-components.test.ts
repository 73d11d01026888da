/** Components that export `execute`, by the optional toolchain and, where it is there, by wasmtime. */

import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { componentEmbed, componentNew } from "@bytecodealliance/jco-transpile/wasm-tools";
import { beforeAll, describe, expect, test } from "vitest";

import type { TrustTier } from "../../../lib/index.js";
import { findEngine } from "../../../lib/skills/engines/choice.js";
import { wat } from "../../support/wat.js";
import { describeUnless } from "../support/requirements.js";
import { whyNo, whyNoSecondWall } from "../support/runtimes.js";
import { makeExecutor } from "../support/skills.js";
import { tempDirectory } from "../support/temp.js";

const sources = fileURLToPath(new URL("./modules", import.meta.url));

const paths = { echo: "", loops: "", imports: "", other: "" };

async function build(name: keyof typeof paths, core: string, world: string): Promise<void> {
  const embedded = await componentEmbed({
    binary: await wat(core),
    witSource: `package native-runner:skill;\n${world}`,
    world: "skill",
  });
  paths[name] = join(tempDirectory(`component-${name}`), `${name}.wasm`);
  writeFileSync(paths[name], await componentNew(embedded));
}

beforeAll(async () => {
  const core = readFileSync(join(sources, "component.wat"), "utf8");
  const world = readFileSync(join(sources, "skill.wit"), "utf8").replace(/^package.*$/m, "");
  await build("echo", core, world);
  const looping = core.replace("(local $at i32)", "(local $at i32) (loop $again (br $again))");
  await build("loops", looping, world);
  await build(
    "imports",
    core.replace("(module", '(module (import "$root" "secret" (func))'),
    world.replace("export", "import secret: func();\n  export"),
  );
  await build("other", core.replaceAll('"execute"', '"run"'), world.replace("execute", "run"));
}, 120_000);

const skill = (name: keyof typeof paths, trustTier: TrustTier) => ({
  manifest: { name },
  wasmPath: paths[name],
  trustTier,
  resourceLimits: { maxDurationMs: 20_000 },
});

type Way = {
  engine: "node" | "wasmtime";
  name: string;
  tier: TrustTier;
  runtime?: "bubblewrap" | "landlock";
};

function describeComponents({ engine, name, tier, runtime = "bubblewrap" }: Way): void {
  const executor = makeExecutor({ engine, runtime });

  test("gives back what it returns, cold and warm", async () => {
    for (const input of ["hello", 'ö 😀 "x" \n', "!".repeat(0) + "long ".repeat(10_000)]) {
      const result = await executor.execute(skill("echo", tier), input);
      expect(result).toMatchObject({ output: input, engine: name });
      expect(result.walls).toEqual(tier === "verified" ? ["wasm"] : ["wasm", `os:${runtime}`]);
    }
  });

  test("fails with the error that it returns", async () => {
    await expect(executor.execute(skill("echo", tier), "!no")).rejects.toMatchObject({
      code: "ERR_SKILL_FAILED",
      message: expect.stringContaining("!no"),
    });
  });

  test("is ended at its time", async () => {
    const looping = { ...skill("loops", tier), resourceLimits: { maxDurationMs: 4000 } };
    await expect(executor.execute(looping, "x")).rejects.toMatchObject({
      code: "ERR_SKILL_LIMIT",
      limit: "time",
    });
  });

  test("has a limit for its output", async () => {
    const short = { ...skill("echo", tier), resourceLimits: { maxOutputBytes: 3 } };
    expect((await executor.execute(short, "abc")).output).toBe("abc");
    await expect(executor.execute(short, "abcd")).rejects.toMatchObject({
      code: expect.stringMatching(/^ERR_SKILL_(LIMIT|PROTOCOL)$/),
    });
  });

  test.each(["imports", "other"] as const)("of another world (%s) is refused", async (other) => {
    await expect(executor.execute(skill(other, tier), "x")).rejects.toMatchObject({
      code: "ERR_SKILL_FAILED",
    });
  });
}

describe("verified, by the toolchain", () =>
  describeComponents({ engine: "node", name: "jco", tier: "verified" }));

for (const runtime of ["bubblewrap", "landlock"] as const) {
  describeUnless(whyNo(runtime), `untrusted components, under ${runtime}`, () =>
    describeComponents({ engine: "node", name: "jco", tier: "untrusted", runtime }),
  );
}

for (const tier of ["verified", "untrusted"] as const) {
  const isMissing = findEngine("wasmtime", undefined) === undefined;
  const whyMissing = isMissing ? "there is no wasmtime on PATH" : undefined;
  const whyNot = whyMissing ?? (tier === "untrusted" ? whyNoSecondWall() : undefined);
  describeUnless(whyNot, `${tier} components, by wasmtime`, () =>
    describeComponents({ engine: "wasmtime", name: "wasmtime", tier }),
  );
}

describe("without a toolchain", () => {
  test("the error names what to install", () => {
    const home = tempDirectory("package");
    const root = fileURLToPath(new URL("../../..", import.meta.url));
    for (const part of ["dist", "package.json", "build/release/native_runner.node"]) {
      cpSync(join(root, part), join(home, part), { recursive: true });
    }
    cpSync(join(root, "build/release/launcher"), join(home, "build/release/launcher"));
    mkdirSync(join(home, "node_modules"));
    for (const name of ["valibot", "leven", "unbash", "strip-json-comments"]) {
      const part = join("node_modules", name);
      cpSync(join(root, part), join(home, part), { recursive: true, dereference: true });
    }
    const script = `
      import { WasmSkillExecutor } from ${JSON.stringify(join(home, "dist/index.js"))};
      const skill = ${JSON.stringify(skill("echo", "verified"))};
      await new WasmSkillExecutor({ engine: "node", environment: {} }).execute(skill, "x").then(
        () => console.log("it ran"),
        ({ code, fix }) => console.log(code, fix),
      );`;
    const done = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
      encoding: "utf8",
      cwd: home,
    });
    expect(done.stderr).toBe("");
    expect(done.stdout).toMatch(/^ERR_SKILL_ENGINE install wasmtime .*jco-transpile/);
  });
});
