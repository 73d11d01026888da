import { describe, expect, it } from "vitest";

import { endReason, truncations } from "../../lib/cli/reason.js";
import type { Outcome } from "../../types/public.js";
import { kDefaultCliOptions } from "../support/cli-options.js";
import { result } from "../support/fake-addon.js";

const told = (outcome: Outcome) => endReason(result({ outcome }), kDefaultCliOptions);

describe("endReason", () => {
  it.each<Outcome>([{ kind: "exited" }, { kind: "signaled", signal: "SIGSEGV" }])(
    "says nothing of %j: that was the command's own",
    (outcome) => {
      expect(told(outcome)).toBeUndefined();
    },
  );

  it.each<[Outcome, RegExp]>([
    [{ kind: "timed-out" }, /^timed out after 1m \(--timeout\)$/],
    [{ kind: "aborted" }, /^interrupted$/],
    [{ kind: "not-found" }, /not found/],
    [{ kind: "not-executable" }, /can't be executed/],
    [{ kind: "setup-failed", reason: "no /x" }, /^set-up failed: no \/x$/],
    [{ kind: "limit-exceeded", limit: "memoryBytes" }, /--memory$/],
    [{ kind: "limit-exceeded", limit: "maxStdoutBytes" }, /maxStdoutBytes$/],
  ])("tells %j in one line", (outcome, expected) => {
    expect(told(outcome)?.message).toMatch(expected);
  });
});

describe("truncations", () => {
  it("has a line for each stream that lost something", () => {
    const cut = { truncatedStdout: true, stdout: new Uint8Array(1024), stdoutBytes: 1024 ** 3 };
    expect(truncations(result(cut))).toEqual([
      { message: "stdout truncated: 1 KiB of 1 GiB kept (--max-output)" },
    ]);
    expect(truncations(result({ ...cut, truncatedStderr: true, stderrBytes: 1 }))).toHaveLength(2);
    expect(truncations(result())).toEqual([]);
  });
});
