import { describe, expect, it } from "vitest";

import { outputText, streamText } from "../../lib/project/output-text.js";
import { result } from "../support/fake-addon.js";

const bytes = (text: string) => new TextEncoder().encode(text);

/** What the addon keeps of a stream with "head+tail". */
function kept(text: string, limit: number): string {
  const all = bytes(text);
  if (all.length <= limit) return streamText(all, all.length, false);
  const tail = Math.floor(limit / 2);
  const both = new Uint8Array(limit);
  both.set(all.subarray(0, limit - tail));
  both.set(all.subarray(all.length - tail), limit - tail);
  return streamText(both, all.length, true);
}

describe("a stream", () => {
  it("is left alone when all of it was kept", () => {
    expect(kept("", 4)).toBe("");
    expect(kept("äöü\n\n", 8)).toBe("äöü\n\n");
  });

  it("is cut at line ends", () => {
    const lines = "one 1\ntwo 2\nthree\nfour 4\nfive\n";
    expect(kept(lines, 17)).toBe("one 1\n[... 19 of 30 bytes left out ...]\nfive\n");
  });

  it("is cut at characters where a line is long, and gets line ends of its own", () => {
    for (const text of ["€".repeat(40), "😀".repeat(30), "é".repeat(60), "x".repeat(120)]) {
      for (let limit = 20; limit < 33; limit += 1) {
        const cut = kept(text, limit);
        expect(cut).not.toContain("\ufffd");
        const [, left] = /^\[\.\.\. (\d+) of \d+ bytes left out \.\.\.\]$/m.exec(cut) ?? [];
        const shown = cut.replace(/\n?\[\.\.\. .* \.\.\.\]\n/, "");
        expect(bytes(shown).length + Number(left)).toBe(120);
        expect(bytes(shown).length).toBeGreaterThan(limit - 7);
      }
    }
  });

  it("counts what it leaves out, and keeps nothing where nothing was kept", () => {
    expect(streamText(new Uint8Array(), 5, true)).toBe("[... 5 of 5 bytes left out ...]\n");
    expect(kept("abc", 1)).toBe("a\n[... 2 of 3 bytes left out ...]\n");
  });

  it("survives bytes that are no text", () => {
    expect(streamText(new Uint8Array([0xff, 0x61, 0xe2, 0x82]), 4, false)).toBe("\ufffda\ufffd");
    expect(streamText(new Uint8Array([0x80, 0x80, 0x80, 0x80, 0x80, 0x61]), 99, true)).toContain(
      "a",
    );
  });
});

describe("the text of a run", () => {
  const run = (changes: Parameters<typeof result>[0]) => outputText(result(changes), 60_000);

  it("is the standard output, as it is", () => {
    expect(run({ stdout: bytes("out") })).toBe("out");
    expect(run({})).toBe("");
  });

  it("has standard error after it, and the exit code when it is not 0", () => {
    const both = { stdout: bytes("out"), stderr: bytes("err\n") };
    expect(run(both)).toBe("out\nerr\n");
    expect(run({ ...both, exitCode: 3 })).toBe("out\nerr\nExit code: 3");
    expect(run({ exitCode: 1 })).toBe("Exit code: 1");
  });

  it.each([
    [{ kind: "timed-out" }, 124, "Exit code: 124 (timed out after 60 s)"],
    [{ kind: "signaled", signal: "SIGSEGV" }, 139, "Exit code: 139 (ended by SIGSEGV)"],
    [{ kind: "aborted" }, 130, "Exit code: 130 (aborted)"],
    [
      { kind: "limit-exceeded", limit: "memoryBytes" },
      137,
      "Exit code: 137 (limit exceeded: memoryBytes)",
    ],
  ] as const)("says how it ended: %j", (outcome, exitCode, text) => {
    expect(run({ stdout: bytes("a"), outcome, exitCode })).toBe(`a\n${text}`);
  });
});
