/** What a run may use. */

import { describe, expect, test } from "vitest";

import { narrowLimits } from "../../../lib/remote/policy/narrow.js";
import { parseWorkerPolicy } from "../../../lib/remote/policy/worker-policy.js";

const ceilingWith = (policy: object = {}) => parseWorkerPolicy(policy).ceiling;

const kFigures = [
  "timeoutMs",
  "maxStdoutBytes",
  "maxStderrBytes",
  "memoryBytes",
  "cpuSeconds",
  "maxProcesses",
  "maxOpenFiles",
  "maxFileBytes",
  "cpuShare",
  "ioShare",
  "writeBytes",
] as const;

describe.each(kFigures)("limits.%s", (name) => {
  const { limits } = ceilingWith({ limits: { [name]: 50 } });
  test("up to the ceiling's", () => {
    expect(narrowLimits(limits, { [name]: 50 })).toHaveProperty(name, 50);
    expect(narrowLimits(limits, { [name]: 1 })).toHaveProperty(name, 1);
  });
  test("is the ceiling's where none is asked for", () => {
    expect(narrowLimits(limits, {})).toHaveProperty(name, 50);
    expect(narrowLimits(limits)).toHaveProperty(name, 50);
  });
  test("is refused over it", () => {
    expect(narrowLimits(limits, { [name]: 51 })).toMatchObject({ field: `limits.${name}` });
  });
  test("is refused where it is no figure", () => {
    for (const value of ["50", -1, Number.NaN, null]) {
      expect(narrowLimits(limits, { [name]: value })).toMatchObject({ field: `limits.${name}` });
    }
  });
});

describe("limits.reserveBytes", () => {
  const { limits } = ceilingWith({ limits: { reserveBytes: 50 } });
  test("is the policy's, or more", () => {
    expect(narrowLimits(limits, {})).toHaveProperty("reserveBytes", 50);
    expect(narrowLimits(limits, { reserveBytes: 51 })).toHaveProperty("reserveBytes", 51);
    expect(narrowLimits(ceilingWith().limits, { reserveBytes: 1 })).toHaveProperty(
      "reserveBytes",
      1,
    );
  });
  test("is refused below it", () => {
    expect(narrowLimits(limits, { reserveBytes: 49 })).toMatchObject({
      field: "limits.reserveBytes",
      allowed: "at least 50",
    });
  });
});

test("limits have the runner's defaults below a ceiling that is higher", () => {
  expect(narrowLimits(ceilingWith().limits)).toEqual({
    timeoutMs: 60_000,
    maxStdoutBytes: 1024 ** 2,
    maxStderrBytes: 1024 ** 2,
  });
});

test("no deadline only where the ceiling has none", () => {
  const none = ceilingWith({ limits: { timeoutMs: "none" } }).limits;
  for (const asked of ["none", Number.POSITIVE_INFINITY]) {
    expect(narrowLimits(none, { timeoutMs: asked })).toHaveProperty("timeoutMs", Infinity);
    expect(narrowLimits(ceilingWith().limits, { timeoutMs: asked })).toMatchObject({
      field: "limits.timeoutMs",
      allowed: "at most 3600000",
    });
  }
  expect(narrowLimits(none)).toHaveProperty("timeoutMs", 60_000);
});

test("what of output is kept is the caller's", () => {
  expect(narrowLimits(ceilingWith().limits, { keep: "head+tail" })).toHaveProperty(
    "keep",
    "head+tail",
  );
  expect(narrowLimits(ceilingWith().limits, { keep: "tail" })).toMatchObject({
    field: "limits.keep",
  });
});

test("the message of a limit names it whole, and once", () => {
  const unknown = narrowLimits(ceilingWith().limits, { timeout: 1 });
  expect(unknown).toMatchObject({
    message: 'Unknown field "timeout" in `limits`; did you mean `timeoutMs`?',
  });
  expect(narrowLimits(ceilingWith().limits, { cpuSeconds: -1 })).toMatchObject({
    message: "Expected `limits.cpuSeconds` to be an integer from 0 to 9007199254740991, got -1",
  });
});
