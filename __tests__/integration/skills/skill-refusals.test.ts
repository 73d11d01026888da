/**
 * Nothing untrusted runs where the sandbox is switched off, missing or broken: one test for each
 * way. An engine that counts its processes says that nothing was started.
 */

import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

import {
  buildConfigForSkill,
  runSandboxed,
  type Skill,
  type SkillEngine,
  type TrustTier,
  type WasmSkillExecutorOptions,
} from "../../../lib/index.js";
import { testUnless } from "../support/requirements.js";
import { whyNoSecondWall } from "../support/runtimes.js";
import { makeExecutor } from "../support/skills.js";
import { tempDirectory } from "../support/temp.js";

/** Writes down that it was started, where the host can see it when nothing confines it. */
function countingEngine(): SkillEngine & { commands: number } {
  const engine = {
    name: "counting",
    enforces: { fuel: true, memory: true, time: true, wasi: true, components: false },
    commands: 0,
    command: () => {
      engine.commands += 1;
      const argv = [process.execPath, "-p", "6*7"];
      const env = { OPENSSL_CONF: "/dev/null" };
      const readable = [process.execPath];
      const bounds = { overheadBytes: 1024 ** 3, maxStdoutBytes: 100 };
      return { argv, env, readable, stdin: new Uint8Array(), ...bounds };
    },
    answer: ({ stdout }: { stdout: Uint8Array }) => ({
      success: true as const,
      output: Buffer.from(stdout).toString().trim(),
    }),
  };
  return engine;
}

function makeSkill(): Skill {
  const wasmPath = join(tempDirectory("skill"), "skill.wasm");
  writeFileSync(wasmPath, Buffer.from("\0asm\x01\0\0\0", "latin1"));
  return { manifest: { name: "any" }, wasmPath, trustTier: "untrusted" };
}

function stub(text: string): string {
  const path = join(tempDirectory("stub"), "bwrap");
  writeFileSync(path, `#!/bin/sh\n[ "$1" = --help ] && exec bwrap --help\n${text}\n`);
  chmodSync(path, 0o755);
  return path;
}

async function expectRefused(
  options: WasmSkillExecutorOptions,
  error: { code: string; message?: unknown },
): Promise<void> {
  const engine = countingEngine();
  const executor = makeExecutor({ ...options, engine });
  await expect(executor.execute(makeSkill(), "")).rejects.toMatchObject(error);
  expect(engine.commands).toBe(0);
}

const unavailable = (reason: RegExp) => ({
  code: "ERR_SANDBOX_UNAVAILABLE",
  message: expect.stringMatching(reason) as unknown,
});

describe("the same engine", () => {
  testUnless(whyNoSecondWall(), "runs where a sandbox works", async () => {
    const engine = countingEngine();
    const { output, walls } = await makeExecutor({ engine }).execute(makeSkill(), "");
    expect({ output, commands: engine.commands }).toEqual({ output: "42", commands: 1 });
    expect(walls).toHaveLength(2);
  });
});

describe("switched off", () => {
  test.each([
    ["OPENAGENTIC_RUNTIME_TYPE", "native"],
    ["ZEPTOCLAW_RUNTIME_TYPE", "native"],
    ["OPENAGENTIC_SANDBOX_BACKEND", "none"],
    ["OPENAGENTIC_RUNTIME_TYPE", "firejail"],
    ["OPENAGENTIC_SANDBOX_BACKEND", "firejail"],
  ])("%s=%s", (name, value) =>
    expectRefused({ environment: { [name]: value } }, unavailable(/bubblewrap or landlock only/)),
  );

  test("by an option", () =>
    expectRefused({ runtime: "native" as "auto" }, unavailable(/the option `runtime`/)));

  test("by a variable that is not understood", () =>
    expectRefused(
      { environment: { OPENAGENTIC_RUNTIME_TYPE: "nativ" } },
      { code: "ERR_INVALID_ARG_VALUE" },
    ));

  test("by a tier that is not one", async () => {
    const engine = countingEngine();
    for (const tier of ["Untrusted", "trusted", "", undefined, null]) {
      const skill = { ...makeSkill(), trustTier: tier as TrustTier };
      await expect(makeExecutor({ engine }).execute(skill, "")).rejects.toThrow(/`trustTier`/);
    }
    expect(engine.commands).toBe(0);
  });

  test("by a configuration that asks for more", async () => {
    const engine = countingEngine();
    const config = buildConfigForSkill(makeSkill().wasmPath, "", "untrusted");
    const opened = [
      { ...config, allowNetwork: true },
      { ...config, writablePaths: [config.tempDir] },
      { ...config, readablePaths: [] },
    ];
    for (const wrong of opened) {
      await expect(runSandboxed(wrong, { engine, environment: {} })).rejects.toThrow(TypeError);
    }
    expect(engine.commands).toBe(0);
    if (whyNoSecondWall() === undefined) {
      const run = await runSandboxed(config, { engine, environment: {} });
      expect(run.answer).toEqual({ success: true, output: "42" });
    }
  });
});

describe("missing", () => {
  test("no bwrap at the path", () =>
    expectRefused(
      { runtime: "bubblewrap", bwrapPath: "/not/there/bwrap" },
      unavailable(/bubblewrap/),
    ));

  test("no bwrap at the operator's path", () =>
    expectRefused(
      { runtime: "bubblewrap", environment: { OPENAGENTIC_BWRAP_PATH: "/not/there/bwrap" } },
      unavailable(/\/not\/there\/bwrap/),
    ));

  test("no native addon, and so no sandbox at all", () => {
    const { wasmPath } = makeSkill();
    const script = `
      import { WasmSkillExecutor } from ${JSON.stringify(new URL("../../../dist/index.js", import.meta.url).href)};
      const skill = { manifest: { name: "any" }, wasmPath: ${JSON.stringify(wasmPath)}, trustTier: "untrusted" };
      await new WasmSkillExecutor({ environment: {} }).execute(skill, "").then(
        () => console.log("it ran"),
        ({ code, steps }) => console.log(code, steps.map(({ name }) => name).join(" ")),
      );`;
    const done = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
      encoding: "utf8",
      env: { ...process.env, OPENAGENTIC_NATIVE_RUNNER_PRESET: "none-such" },
    });
    expect(done.stdout.trim()).toBe("ERR_SANDBOX_UNAVAILABLE bubblewrap landlock landlock");
  });
});

describe("broken", () => {
  test("a bwrap that fails", () =>
    expectRefused(
      { runtime: "bubblewrap", bwrapPath: stub("echo 'bwrap: No permissions' >&2; exit 1") },
      unavailable(/No permissions/),
    ));

  test("a bwrap that starts the command and confines nothing", () =>
    expectRefused(
      {
        runtime: "bubblewrap",
        bwrapPath: stub('while [ $# -gt 0 ] && [ "$1" != -- ]; do shift; done; shift; exec "$@"'),
      },
      unavailable(/bubblewrap/),
    ));

  test("a bwrap that says it has done its work", () =>
    expectRefused({ runtime: "bubblewrap", bwrapPath: stub("exit 0") }, unavailable(/bubblewrap/)));
});

describe("not to be set up", () => {
  testUnless(whyNoSecondWall(), "a path of the engine that is not there", async () => {
    const engine = countingEngine();
    const lacking: SkillEngine = {
      ...engine,
      command: async (request, run) => {
        const command = await engine.command(request, run);
        return { ...command, readable: [...command.readable, "/not/there"] };
      },
    };
    await expect(makeExecutor({ engine: lacking }).execute(makeSkill(), "")).rejects.toMatchObject({
      code: "ERR_SANDBOX_SETUP",
      message: expect.stringContaining("/not/there"),
    });
  });
});

describe("a skill's path", () => {
  testUnless(
    whyNoSecondWall(),
    "a link to a skill shows the directory that it leads to",
    async () => {
      const engine = countingEngine();
      const link = join(tempDirectory("link"), "link.wasm");
      symlinkSync(makeSkill().wasmPath, link);
      const skill = { ...makeSkill(), wasmPath: link };
      expect((await makeExecutor({ engine }).execute(skill, "")).output).toBe("42");
    },
  );

  test("a link out of what a configuration shows is refused", async () => {
    const engine = countingEngine();
    const link = join(tempDirectory("link"), "link.wasm");
    symlinkSync(makeSkill().wasmPath, link);
    const config = buildConfigForSkill(link, "", "untrusted");
    await expect(runSandboxed(config, { engine, environment: {} })).rejects.toThrow(/leads to/);
    expect(engine.commands).toBe(0);
  });

  test("a directory and a file that is not there are refused", async () => {
    const engine = countingEngine();
    const directory = join(tempDirectory("skill"), "directory.wasm");
    mkdirSync(directory);
    for (const wasmPath of [directory, "/not/there/skill.wasm"]) {
      const skill = { ...makeSkill(), wasmPath };
      await expect(makeExecutor({ engine }).execute(skill, "")).rejects.toThrow(/`wasmPath`/);
    }
    expect(engine.commands).toBe(0);
  });
});
