/** What a module may import, and that a large one does not hold up the host's thread. */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";

import {
  type Skill,
  SkillError,
  type TrustTier,
  type WasmSkillExecutor,
} from "../../../lib/index.js";
import { wat } from "../../support/wat.js";
import { testUnless } from "../support/requirements.js";
import { whyNoSecondWall } from "../support/runtimes.js";
import { makeExecutor } from "../support/skills.js";
import { tempDirectory } from "../support/temp.js";

const kMiB = 1024 ** 2;
const executors: WasmSkillExecutor[] = [];
afterAll(() => Promise.all(executors.map((executor) => executor.close())));

function executor(): WasmSkillExecutor {
  const made = makeExecutor();
  executors.push(made);
  return made;
}

function skill(bytes: Uint8Array, trustTier: TrustTier): Skill {
  const wasmPath = join(tempDirectory("skill"), "skill.wasm");
  writeFileSync(wasmPath, bytes);
  return { manifest: { name: "any" }, wasmPath, trustTier };
}

/** Imports a function of WASI by its name, and calls it with nothing. */
async function importing(name: string): Promise<Uint8Array> {
  return wat(`(module
    (import "wasi_snapshot_preview1" "${name}" (func $imported (result i32)))
    (memory (export "memory") 1)
    (func (export "_start") call $imported drop))`);
}

describe.each(["verified", "untrusted"] as const)("a %s module that imports", (tier) => {
  const whyNot = tier === "untrusted" ? whyNoSecondWall() : undefined;

  testUnless(whyNot, "what WASI has is run", async () => {
    const { output } = await executor().execute(skill(await importing("sched_yield"), tier), "");
    expect(output).toBe("");
  });

  for (const name of ["constructor", "toString", "hasOwnProperty", "valueOf", "__proto__"]) {
    testUnless(whyNot, `${name}, which every object has, is refused`, async () => {
      const refused = executor().execute(skill(await importing(name), tier), "");
      await expect(refused).rejects.toBeInstanceOf(SkillError);
      await expect(refused).rejects.toMatchObject({
        code: "ERR_SKILL_FAILED",
        message: expect.stringContaining(name),
      });
    });
  }
});

function leb128(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  do {
    bytes.push((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
    rest >>>= 7;
  } while (rest > 0);
  return bytes;
}

/** A command of that many bytes: what makes it so is a section that means nothing. */
async function large(bytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const command = await wat(
    '(module (memory (export "memory") 1) (func (export "_start") (drop (i32.const 1))))',
  );
  const body = bytes - command.length - 5; // its id and its size come before
  const section = Buffer.from([0, ...leb128(body), 1, "x".charCodeAt(0)]);
  const filling = Buffer.alloc(bytes - command.length - section.length);
  return new Uint8Array(Buffer.concat([command, section, filling]));
}

/** Milliseconds that this process' first thread has had a processor: proc_pid_schedstat(5). */
function processorMs(): number {
  return Number(readFileSync("/proc/self/schedstat", "utf8").split(" ")[0]) / 1e6;
}

/**
 * The longest work that `use` did on this thread without letting anything else happen, of three tries
 * the shortest. Other processes' load has no part in it.
 */
async function longestPause(use: () => Promise<unknown>): Promise<number> {
  const pauses: number[] = [];
  for (let round = 0; round < 3; round += 1) {
    let last = processorMs();
    let longest = 0;
    const look = () => {
      const now = processorMs();
      longest = Math.max(longest, now - last);
      last = now;
    };
    const timer = setInterval(look, 1);
    await use();
    look();
    clearInterval(timer);
    pauses.push(longest);
  }
  return Math.min(...pauses);
}

describe("a large verified module", () => {
  test("does not hold up the host's thread", async () => {
    const bytes = await large(60 * kMiB);
    const here = await longestPause(async () => WebAssembly.compile(new Uint8Array(bytes)));
    const verified = skill(bytes, "verified");
    const there = await longestPause(async () => {
      const { walls, output } = await executor().execute(verified, "");
      expect({ walls, output }).toEqual({ walls: ["wasm"], output: "" });
    });
    expect(here).toBeGreaterThan(10); // else there was nothing to hold it up
    expect(there).toBeLessThan(here / 2);
  });

  test("is compiled once, and anew when its file is another", async () => {
    const mine = executor();
    const verified = skill(await large(8 * kMiB), "verified");
    for (let call = 0; call < 3; call += 1) {
      expect((await mine.execute(verified, "")).output).toBe("");
    }
    const traps = await wat(
      '(module (memory (export "memory") 1) (func (export "_start") unreachable))',
    );
    writeFileSync(verified.wasmPath, traps);
    await expect(mine.execute(verified, "")).rejects.toMatchObject({ code: "ERR_SKILL_FAILED" });
  });

  test("that is broken is refused as a small one is", async () => {
    const bytes = await large(8 * kMiB);
    bytes[9] = 0xff;
    await expect(executor().execute(skill(bytes, "verified"), "")).rejects.toMatchObject({
      code: "ERR_SKILL_FAILED",
    });
  });

  test.each(["verified", "untrusted"] as const)("has a limit of 64 MiB when %s", async (tier) => {
    const refused = executor().execute(skill(await large(64 * kMiB + 1), tier), "");
    await expect(refused).rejects.toMatchObject({
      code: "ERR_INVALID_ARG_VALUE",
      message: expect.stringContaining("larger than 67108864 bytes"),
      cause: expect.any(Error),
    });
  });
});
