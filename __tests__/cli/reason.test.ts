import { describe, expect, it } from "vitest";

import { endReason, sizesOf, truncations } from "../../lib/cli/reason.js";
import type { Outcome } from "../../types/public.js";
import { kDefaultCliOptions } from "../support/cli-options.js";
import { result } from "../support/fake-addon.js";

const reported = (outcome: Outcome) => endReason(result({ outcome }), kDefaultCliOptions);

describe("endReason", () => {
  it.each<Outcome>([{ kind: "exited" }, { kind: "signaled", signal: "SIGSEGV" }])(
    "says nothing of %j: that was the command's own",
    (outcome) => {
      expect(reported(outcome)).toBeUndefined();
    },
  );

  it.each<[Outcome, RegExp]>([
    [{ kind: "timed-out" }, /^timed out after 1m \(--timeout\)$/],
    [{ kind: "aborted" }, /^interrupted$/],
    [{ kind: "not-found" }, /not found/],
    [{ kind: "not-executable" }, /can't be executed/],
    [{ kind: "setup-failed", reason: "no /x" }, /^no \/x$/],
    [{ kind: "limit-exceeded", limit: "memoryBytes" }, /--memory$/],
    [{ kind: "limit-exceeded", limit: "maxStdoutBytes" }, /--max-output$/],
    [{ kind: "limit-exceeded", limit: "writeBytes" }, /--max-write$/],
    [{ kind: "limit-exceeded", limit: "reserveBytes" }, /--reserve$/],
  ])("tells %j in one line", (outcome, expected) => {
    expect(reported(outcome)?.message).toMatch(expected);
  });
});

describe("a set-up that failed", () => {
  const failed = (reason: string, fix?: string) =>
    reported({ kind: "setup-failed", reason, ...(fix === undefined ? {} : { fix }) });

  it.each([
    "cannot enter /workspace/nope: No such file or directory",
    'roBinds names "/nope", which this host lacks',
    'shadowDir must be a directory when a run starts, got "/nope": No such file or directory',
  ])("is no reason to isolate less: %s", (reason) => {
    expect(failed(reason)?.fix).not.toMatch(/isolation|compat/);
  });

  it("names the option of a directory that can't be entered", () => {
    expect(failed("cannot enter /workspace/nope: Not a directory")?.fix).toMatch(/^--cwd /);
  });

  it("keeps the library's fix, in the words of the command line", () => {
    const reason = failed('roBinds names "/x", which this host lacks', "remove it from roBinds");
    expect(reason).toEqual({
      message: 'the read-only mounts name "/x", which this host lacks',
      fix: "leave it out",
    });
  });
});

describe("a signal", () => {
  const ended = (signal: string, memory?: number) =>
    endReason(result({ outcome: { kind: "signaled", signal } }), {
      ...kDefaultCliOptions,
      ...(memory === undefined ? {} : { memory }),
    });

  it("is told where a limit of memory may be behind it", () => {
    expect(ended("SIGSEGV", 1)).toMatchObject({
      message: "ended by SIGSEGV, under --memory 1 B",
      fix: expect.stringContaining("larger --memory"),
    });
  });

  it("is the command's own without one, or where memory has no part in it", () => {
    expect(ended("SIGSEGV")).toBeUndefined();
    expect(ended("SIGTERM", 1)).toBeUndefined();
  });
});

describe("truncations", () => {
  it("has a line for each stream that lost something", () => {
    const cut = { truncatedStdout: true, stdout: new Uint8Array(1024), stdoutBytes: 1024 ** 3 };
    expect(truncations(sizesOf(result(cut)))).toEqual([
      { message: "stdout truncated: 1 KiB of 1 GiB kept (--max-output)" },
    ]);
    const both = { ...cut, truncatedStderr: true, stderrBytes: 1 };
    expect(truncations(sizesOf(result(both)))).toHaveLength(2);
    expect(truncations(sizesOf(result()))).toEqual([]);
    expect(truncations({ stdout: { kept: 2, written: 2 }, stderr: null })).toEqual([]);
  });
});
