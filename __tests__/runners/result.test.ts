import { inspect } from "node:util";
import { expect, test } from "vitest";

import { resultMaker, resultOf, withReason } from "../../lib/exec-result.js";
import type { NativeReport } from "../../types/addon.js";
import type { Outcome, SandboxStart } from "../../types/public.js";

const bytes = (text: string) => new TextEncoder().encode(text);

const kReport: NativeReport = {
  exitCode: 0,
  outcome: { kind: "exited" },
  stdout: bytes(""),
  stderr: bytes(""),
  truncatedStdout: false,
  truncatedStderr: false,
  stdoutBytes: 0,
  stderrBytes: 0,
  userCpuMs: 1,
  systemCpuMs: 1,
  peakMemoryBytes: 1,
  cmd: "bwrap",
  options: ["--die-with-parent"],
  command: ["ls"],
  cwd: undefined,
  durationMs: 1,
  endedMs: 0,
  signal: null,
  runtime: "local",
  layers: [],
  policyHash: "h",
  queueMs: 0,
  setupMs: 0,
  commandMs: 0,
  teardownMs: 0,
  start: "cold",
  coldReason: undefined,
  namespaces: undefined,
  kill: null,
  shellState: undefined,
  connections: undefined,
  connectionsOmitted: 0,
  forwards: undefined,
  denials: undefined,
  denialsOmitted: 0,
};

function make(
  stdout: Uint8Array,
  stderr: Uint8Array,
  outcome: Outcome = { kind: "exited" },
  from: [start: SandboxStart, coldReason: string | undefined] = ["cold", undefined],
) {
  return resultOf({ ...kReport, stdout, stderr, outcome, start: from[0], coldReason: from[1] });
}

test("the texts are what the bytes say, U+FFFD for what is none", () => {
  const result = make(bytes("\ufeffgrüße €\n"), new Uint8Array([0x61, 0xff, 0x62, 0xe2, 0x82]));
  expect(result.stdoutText).toBe("\ufeffgrüße €\n");
  expect(result.stderrText).toBe("a\ufffdb\ufffd");
  expect(make(new Uint8Array(), new Uint8Array()).stdoutText).toBe("");
});

test("console.log shows what is text as text, and bytes as bytes", () => {
  const shown = inspect(make(bytes("42\n"), new Uint8Array([0xff])));
  expect(shown).toContain("stdout: '42\\n'");
  expect(shown).toContain("stderr: Uint8Array(1) [ 255 ]");
  expect(shown).toContain("outcome: { kind: 'exited' }");
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

test.each([
  ["as the type lists them", Object.keys(kReport)],
  ["the other way round", Object.keys(kReport).reverse()],
])("the addon's values belong to the fields that it names: %s", (_, names) => {
  const fields = names as (keyof NativeReport)[];
  const report = { ...kReport, stdout: bytes("out"), exitCode: 3, cwd: "sub" };
  const result = resultMaker(fields)(...fields.map((field) => report[field]));
  expect(result).toEqual(resultOf(report));
  expect(result).toMatchObject({ exitCode: 3, stdoutText: "out" });
  expect(result.audits[0]).toMatchObject({ argv: ["--die-with-parent", "ls"], cwd: "sub" });
});
