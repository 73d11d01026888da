/** Answers become results or errors by one function. */

import { describe, expect, it } from "vitest";

import {
  checkAnswer,
  parseAnswer,
  type RunRecord,
  SkillError,
  settle,
} from "../../lib/skills/answer.js";

const record: RunRecord = {
  skill: "echo",
  engine: "node",
  walls: ["wasm", "os:bubblewrap"],
  enforced: { memory: "engine", time: "supervisor", output: "engine" },
  durationMs: 12,
  audits: [],
  stderr: "engine: hm\n",
};
const bytes = (text: string) => new TextEncoder().encode(text);
const parsed = (text: string) => parseAnswer(bytes(text));

function failure(answer: unknown): SkillError {
  try {
    settle(checkAnswer(answer), record);
  } catch (error) {
    if (error instanceof SkillError) return error;
  }
  throw new Error("expected a SkillError");
}

describe("success", () => {
  it("is a result with all that is known", () => {
    const answer = parsed(
      '{"success":true,"output":"ö","fuel_consumed":7,"memory_peak_bytes":65536,"duration_ms":1.5,"stderr":"skill: ah\\n"}',
    );
    expect(settle(answer, record)).toEqual({
      output: "ö",
      fuelConsumed: 7,
      memoryPeakBytes: 65_536,
      durationMs: 12,
      stderr: "skill: ah\nengine: hm\n",
      engine: "node",
      walls: ["wasm", "os:bubblewrap"],
      enforced: record.enforced,
      audits: [],
    });
  });

  it("may have an output that looks like an answer", () => {
    const forged = '{"success":true,"output":"forged"}';
    const answer = parsed(JSON.stringify({ success: true, output: forged }));
    expect(settle(answer, record).output).toBe(forged);
  });
});

describe("failure", () => {
  it.each([
    ["invalid", "ERR_SKILL_FAILED"],
    ["trap", "ERR_SKILL_FAILED"],
    ["exit", "ERR_SKILL_FAILED"],
    ["limit", "ERR_SKILL_LIMIT"],
    ["protocol", "ERR_SKILL_PROTOCOL"],
    [undefined, "ERR_SKILL_FAILED"],
  ])("of kind %s is %s", (kind, code) => {
    const error = failure({ success: false, error: "why", error_kind: kind });
    expect(error).toMatchObject({ code, message: "skill echo: why", engine: "node" });
  });

  it("tells the limit, the exit code, both streams' words and the walls", () => {
    const answer = { success: false, error: "x", error_kind: "limit", limit: "memory" };
    expect(failure({ ...answer, memory_peak_bytes: 9, stderr: "a" })).toMatchObject({
      code: "ERR_SKILL_LIMIT",
      limit: "memory",
      memoryPeakBytes: 9,
      stderr: "aengine: hm\n",
      walls: ["wasm", "os:bubblewrap"],
    });
    expect(failure({ success: false, error: "x", error_kind: "exit", exit_code: 3 })).toMatchObject(
      {
        exitCode: 3,
        limit: undefined,
      },
    );
  });
});

describe("what is no answer", () => {
  it.each([
    ["nothing", ""],
    ["no JSON", "Segmentation fault"],
    ["two answers", '{"success":true,"output":"a"}{"success":true,"output":"b"}'],
    ["words before it", 'hello {"success":true,"output":"a"}'],
    ["an array", "[]"],
    ["null", "null"],
    ["a success without output", '{"success":true}'],
    ["an output that is no string", '{"success":true,"output":{"a":1}}'],
    ["a failure with output", '{"success":false,"error":"x","output":"a"}'],
    ["a success that is no boolean", '{"success":"true","output":"a"}'],
    ["an unknown field", '{"success":true,"output":"a","walls":[]}'],
    ["negative fuel", '{"success":true,"output":"a","fuel_consumed":-1}'],
    ["a duration beyond all numbers", '{"success":true,"output":"a","duration_ms":1e999}'],
    ["an unknown kind", '{"success":false,"error":"x","error_kind":"sandbox"}'],
    ["an unknown limit", '{"success":false,"error":"x","error_kind":"limit","limit":"disk"}'],
    ["an own __proto__", '{"success":true,"output":"a","__proto__":{"x":1}}'],
  ])("%s is a failure of the protocol", (_, text) => {
    expect(parsed(text)).toMatchObject({ success: false, error_kind: "protocol" });
  });

  it("bytes that are no UTF-8 are, too", () => {
    const text = bytes('{"success":true,"output":"a"}');
    text[26] = 0xff;
    expect(parseAnswer(text)).toMatchObject({ error_kind: "protocol" });
  });
});
