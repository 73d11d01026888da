import { describe, expect, it } from "vitest";

import { RuntimeResult } from "../../lib/runtime/runtime.js";
import type { SandboxedExecResult } from "../../types/public.js";
import { result } from "../support/fake-addon.js";

const bytes = (text: string) => new TextEncoder().encode(text);
const made = (changes: Partial<SandboxedExecResult>) => new RuntimeResult(result(changes));

describe("format", () => {
  it.each([
    ["stdout alone", { stdout: bytes("a\n") }, "a\n"],
    ["both", { stdout: bytes("a"), stderr: bytes("b") }, "a\n--- stderr ---\nb"],
    ["stderr alone", { stderr: bytes("b") }, "\n--- stderr ---\nb"],
    ["a code", { stdout: bytes("a"), exitCode: 3 }, "a\n[Exit code: 3]"],
    [
      "all",
      { stdout: bytes("a"), stderr: bytes("b"), exitCode: 1 },
      "a\n--- stderr ---\nb\n[Exit code: 1]",
    ],
    ["nothing", {}, ""],
    ["no code", { exitCode: 124, outcome: { kind: "timed-out" } }, "\n[No exit code: timed-out]"],
    [
      "a signal",
      { exitCode: 137, outcome: { kind: "signaled", signal: "SIGKILL" } },
      "\n[No exit code: signaled SIGKILL]",
    ],
  ] as const)("%s", (_name, changes, expected) => {
    expect(made(changes).format()).toBe(expected);
  });
});

describe("exitCode", () => {
  it.each([
    [{ kind: "exited" }, 7, 7],
    [{ kind: "not-found" }, 127, 127],
    [{ kind: "not-executable" }, 126, 126],
    [{ kind: "signaled", signal: "SIGTERM" }, 143, null],
    [{ kind: "timed-out" }, 124, null],
    [{ kind: "aborted" }, 130, null],
    [{ kind: "setup-failed", reason: "x" }, 125, null],
    [{ kind: "limit-exceeded", limit: "memoryBytes" }, 137, null],
  ] as const)("%j: %d is %s", (outcome, exitCode, expected) => {
    expect(made({ outcome, exitCode }).exitCode).toBe(expected);
    expect(made({ outcome, exitCode }).success).toBe(false);
  });

  it("is success only with 0", () => {
    expect(made({}).success).toBe(true);
  });
});

it("keeps what is no UTF-8 readable, and a byte order mark", () => {
  const { stdout } = made({ stdout: new Uint8Array([0xef, 0xbb, 0xbf, 0x61, 0xff]) });
  expect(stdout).toBe("\ufeffa\ufffd");
});
