import { expect, test } from "vitest";

import { makeResult, withReason } from "../../lib/exec-result.js";
import type { Outcome, SandboxStart } from "../../types/public.js";

const bytes = (text: string) => new TextEncoder().encode(text);

function make(
  stdout: Uint8Array,
  stderr: Uint8Array,
  outcome: Outcome = { kind: "exited" },
  from: [start: SandboxStart, coldReason: string | undefined] = ["cold", undefined],
) {
  const usage = [1, 1, 1] as const;
  const times = [0, 0, 0, 0] as const;
  const flags = [false, false] as const;
  const command = ["bwrap", [], ["ls"], undefined, 1, null, "local", [], "h"] as const;
  return makeResult(
    0,
    outcome,
    stdout,
    stderr,
    ...flags,
    0,
    0,
    ...usage,
    ...command,
    ...times,
    ...from,
    null,
    undefined,
    undefined,
    0,
    undefined,
    0,
  );
}

test("the texts are what the bytes say, U+FFFD for what is none", () => {
  const result = make(bytes("\ufeffgrüße €\n"), new Uint8Array([0x61, 0xff, 0x62, 0xe2, 0x82]));
  expect(result.stdoutText).toBe("\ufeffgrüße €\n");
  expect(result.stderrText).toBe("a\ufffdb\ufffd");
  expect(make(new Uint8Array(), new Uint8Array()).stdoutText).toBe("");
});

test("they are decoded when they are read, and nowhere else to be found", () => {
  const result = make(bytes("out"), bytes("err"));
  expect(Object.keys(result)).not.toContain("stdoutText");
  expect(structuredClone(result)).toEqual(result);
  expect(JSON.stringify(result.audits)).not.toContain("Text");
  result.stdout.fill(0x78);
  expect(result.stdoutText).toBe("xxx");
});

test.each([
  ["an error", new Error("enough")],
  ["a string", "enough"],
  ["what can't be cloned", () => {}],
])("an aborted run has the signal's reason: %s", (_, reason) => {
  const result = make(bytes(""), bytes(""), { kind: "aborted" });
  withReason(result, AbortSignal.abort(reason));
  expect(result.outcome).toHaveProperty("reason");
  expect(result.outcome.kind === "aborted" && result.outcome.reason).toBe(reason);
  expect(result.outcome).toEqual({ kind: "aborted" });
  expect(structuredClone(result).outcome).toEqual({ kind: "aborted" });
});

test("a run that was not aborted has none", () => {
  const exited = withReason(make(bytes(""), bytes("")), AbortSignal.abort("late"));
  expect(exited.outcome).not.toHaveProperty("reason");
  const closed = make(bytes(""), bytes(""), { kind: "aborted" });
  expect(withReason(closed, undefined).outcome).not.toHaveProperty("reason");
  expect(withReason(closed, new AbortController().signal).outcome).not.toHaveProperty("reason");
});

test.each([
  ["cold", undefined],
  ["cold", "the template has ended"],
  ["cloned", undefined],
  ["prewarmed", undefined],
  ["session", undefined],
] as const)("the record says where the sandbox came from: %s, %s", (start, coldReason) => {
  const empty = new Uint8Array();
  const [audit] = make(empty, empty, { kind: "exited" }, [start, coldReason]).audits;
  expect(audit).toMatchObject({ start, prewarmed: start === "prewarmed" });
  expect(audit?.coldReason).toBe(coldReason);
  expect(Object.hasOwn(audit ?? {}, "coldReason")).toBe(coldReason !== undefined);
});
