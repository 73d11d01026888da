/** What chaos calls plausible: for each rule a call that keeps it, and one that does not. */

import { describe, expect, test } from "vitest";

import { faultOf } from "./verdict.mjs";

const kBegin = {
  expected: [{ kind: "exited", exitCode: 3 }],
  timeoutMs: 20_000,
  throws: false,
  closedBefore: false,
};
const kEnd = { kind: "exited", exitCode: 3, kept: 5, written: 5, truncated: false };
const kAlone = { struck: false, replaced: false, closed: false };
const kMixed = { ...kEnd, wrongOutput: "Killed" };
const kTimedOut = { ...kEnd, kind: "timed-out", exitCode: 124 };
const kAborted = { ...kEnd, kind: "aborted", exitCode: 130 };
const kSignaled = { ...kEnd, kind: "signaled", exitCode: 137 };
const kSetupFailed = { ...kEnd, kind: "setup-failed", exitCode: 125, reason: "why" };
const kLost = { ...kEnd, wrongOutput: "/workspace", lostState: "its shell was killed" };
const kLostAlone = { lostState: "its shell was killed" };
const kClosed = { rejected: "ERR_SANDBOX_CLOSED", message: "closed" };
const kSilent = {
  rejected: "ERR_SANDBOX_UNAVAILABLE",
  message: "/usr/bin/bwrap does not answer --help: it ran over five seconds",
};
const kThrown = { rejected: "thrown on purpose", message: "thrown on purpose" };

const kRules = [
  ["the expected outcome", {}, kEnd, {}],
  ["a short deadline", { timeoutMs: 5 }, kTimedOut, {}],
  ["a deadline that a strike made pass", {}, kTimedOut, { struck: true }],
  ["an abort", { abortAfterMs: 5 }, kAborted, {}],
  ["a runner closed meanwhile", {}, kAborted, { closed: true }],
  ["a killed sandbox", {}, kSignaled, { struck: true }],
  ["a sandbox killed in its set-up", {}, kSetupFailed, { struck: true }],
  ["a workspace away for a moment", {}, kSetupFailed, { replaced: true }],
  ["a batch whose session was ended", { inBatch: true }, kClosed, { struck: true }],
  ["one of a batch after one that was struck", { stopOnError: true }, kAborted, { struck: true }],
  ["a terminal with a shell's complaint", { hasTerminal: true }, kMixed, { struck: true }],
  ["a state that a strike lost, as the result says", {}, kLost, { struck: true }],
  ["a bwrap --help that was stopped", {}, kSilent, { struck: true }],
  ["a callback that throws", { throws: true }, kThrown, {}],
  ["a runner closed before", { closedBefore: true }, kClosed, {}],
] as const;

describe("plausible for what was done, and for nothing else", () => {
  for (const [name, plan, end, touched] of kRules) {
    test(name, () => {
      expect(faultOf({ ...kBegin, ...plan }, end, { ...kAlone, ...touched })).toBeUndefined();
      const expected = end === kEnd ? [] : kBegin.expected;
      expect(faultOf({ ...kBegin, expected }, end, kAlone)).toBeDefined();
    });
  }
});

describe("never right", () => {
  test("a shell's state that is lost though the shell came to its end", () => {
    const step = { ...kBegin, command: "shell state" };
    const why = "lost its state: its shell was killed";
    expect(faultOf(step, { ...kEnd, ...kLostAlone }, kAlone)).toBe(why);
    // Another command may have taken its shell's place.
    expect(faultOf(kBegin, { ...kEnd, ...kLostAlone }, kAlone)).toBeUndefined();
  });
  const touched = { struck: true, replaced: false, closed: true };
  const kNever = [
    ["output that is not its own", { ...kEnd, wrongOutput: "x" }, kAlone],
    ["output of somebody else, though it was struck", { ...kSignaled, wrongOutput: "x" }, touched],
    ["a part of its output", { ...kEnd, notWhole: "x" }, kAlone],
    ["more kept than allowed", { ...kEnd, kept: 9, written: 9 }, kAlone],
    ["less kept than allowed", { ...kEnd, kept: 4 }, kAlone],
    ["what a live process' streams did wrong", { ...kEnd, faults: ["answered twice"] }, kAlone],
    ["an exit code of another kind", { ...kAborted, exitCode: 0 }, touched],
    [
      "a bwrap --help that was killed",
      { ...kSilent, message: "it was ended by signal 9" },
      touched,
    ],
    ["another rejection", { rejected: "ERR_SANDBOX_SETUP", message: "" }, touched],
  ] as const;
  for (const [name, end, done] of kNever) {
    test(name, () => {
      expect(faultOf({ ...kBegin, limit: 5 }, kEnd, done)).toBeUndefined();
      expect(faultOf({ ...kBegin, limit: 5 }, end, done)).toBeDefined();
    });
  }

  test("an outcome of a runner that was closed before", () => {
    expect(faultOf({ ...kBegin, closedBefore: true }, kEnd, kAlone)).toBeDefined();
  });

  test("an outcome where a callback threw", () => {
    expect(faultOf({ ...kBegin, throws: true }, kEnd, kAlone)).toBeDefined();
  });
});
