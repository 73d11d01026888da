/** Output is kept to the byte, and all of it is counted. */

import { expect, test } from "vitest";

import type { NativeLimits } from "../support/package.js";
import { describeSandboxed } from "../support/requirements.js";
import { run, text } from "../support/results.js";
import { kRunners } from "../support/runners.js";
import { tempDirectory } from "../support/temp.js";

/** Writes `count` bytes 0123456789… to a stream. */
const writes = (count: number, to = ""): string =>
  `yes 0123456789 | tr -d '\\n' | head -c ${count} ${to}`;
const digits = (count: number, from = 0): string =>
  "0123456789".repeat(Math.ceil((from + count) / 10)).slice(from, from + count);

const kMebibyte = 2 ** 20;

for (const [label, makeRunner] of kRunners) {
  describeSandboxed(`output, ${label}`, () => {
    const runs = (script: string, limits: NativeLimits) =>
      run(makeRunner(tempDirectory()), script, { limits });

    test.each([1, 10, 4096, 65_536, 100_000, 300_001])(
      "a limit of %i, to the byte",
      async (limit) => {
        for (const written of [0, limit - 1, limit, limit + 1, 3 * limit]) {
          const { result } = await runs(`${writes(written)}; ${writes(written, ">&2")}`, {
            maxStdoutBytes: limit,
            maxStderrBytes: limit,
          });
          const kept = digits(Math.min(written, limit));
          expect(text(result.stdout) === kept && text(result.stderr) === kept).toBe(true);
          expect(result).toMatchObject({
            exitCode: 0,
            stdoutBytes: written,
            stderrBytes: written,
            truncatedStdout: written > limit,
            truncatedStderr: written > limit,
          });
          expect(result.audits[0]).toMatchObject({
            truncatedStdout: written > limit,
            truncatedStderr: written > limit,
          });
        }
      },
    );

    test("a limit of 0 keeps nothing, and nothing is no truncation", async () => {
      const limits = { maxStdoutBytes: 0, maxStderrBytes: 0 };
      const some = (await runs(`${writes(200_000)}; echo x >&2`, limits)).result;
      expect(some).toMatchObject({ exitCode: 0, stdoutBytes: 200_000, stderrBytes: 2 });
      expect(some).toMatchObject({ truncatedStdout: true, truncatedStderr: true });
      expect([some.stdout.length, some.stderr.length]).toEqual([0, 0]);
      const none = (await runs("true", limits)).result;
      expect(none).toMatchObject({
        truncatedStdout: false,
        truncatedStderr: false,
        stdoutBytes: 0,
      });
    });

    test("the default limit is 1 MiB of each", async () => {
      const { result } = await run(
        makeRunner(tempDirectory()),
        `${writes(kMebibyte)}; ${writes(kMebibyte + 1, ">&2")}`,
      );
      expect([result.stdout.length, result.truncatedStdout]).toEqual([kMebibyte, false]);
      expect([result.stderr.length, result.truncatedStderr]).toEqual([kMebibyte, true]);
    });

    test.each([
      [10, 10],
      [10, 11],
      [10, 1000],
      [7, 100],
      [1, 5],
      [0, 5],
      [100_000, 500_000],
    ])("head+tail: of a limit of %i, the halves of %i", async (limit, written) => {
      const { result } = await runs(writes(written), { maxStdoutBytes: limit, keep: "head+tail" });
      const tail = Math.floor(limit / 2);
      const head = limit - tail;
      const kept = text(result.stdout);
      const whole = digits(written);
      const wanted = [
        whole.slice(0, head) + whole.slice(written - tail),
        whole.slice(0, tail) + whole.slice(written - head), // an odd limit has a byte to give
      ];
      expect(written <= limit ? [whole] : wanted).toContain(kept);
      expect(result).toMatchObject({ stdoutBytes: written, truncatedStdout: written > limit });
    });

    test("a command runs on to its end when its output is over", async () => {
      const seen = await runs(`${writes(5_000_000)}; echo ended >&2; exit 3`, {
        maxStdoutBytes: 10,
      });
      expect(seen).toMatchObject({ exitCode: 3, out: "0123456789", err: "ended" });
      expect(seen.result.stdoutBytes).toBe(5_000_000);
    });

    test("both streams flooding at once", async () => {
      const size = 40 * kMebibyte;
      const flood = `head -c ${size} /dev/zero`;
      const { result } = await runs(`${flood} >&2 & ${flood}; wait`, {
        maxStdoutBytes: 5,
        maxStderrBytes: 7,
      });
      expect(result).toMatchObject({ exitCode: 0, stdoutBytes: size, stderrBytes: size });
      expect([result.stdout.length, result.stderr.length]).toEqual([5, 7]);
    });

    test("64 MiB kept whole", async () => {
      const size = 64 * kMebibyte;
      const { result } = await runs(`head -c ${size} /dev/zero | tr '\\0' z`, {
        maxStdoutBytes: size,
      });
      expect(result).toMatchObject({ exitCode: 0, stdoutBytes: size, truncatedStdout: false });
      expect(result.stdout.length).toBe(size);
      expect(result.stdout.every((byte) => byte === 0x7a)).toBe(true);
    });

    test("bytes that are no text", async () => {
      const { result } = await runs("printf '\\000\\377\\200\\n\\303'", {});
      expect([...result.stdout]).toEqual([0, 255, 128, 10, 195]);
    });

    test("what a background process wrote before the end", async () => {
      const seen = await runs(
        "(echo background; echo too >&2; sleep 1000) & sleep 0.5; echo front",
        {},
      );
      expect(seen).toMatchObject({ exitCode: 0, out: "background\nfront", err: "too" });
    });

    test("closed streams are no trouble", async () => {
      expect(await runs("exec >&- 2>&- <&-; sleep 0.05; exit 4", {})).toMatchObject({
        exitCode: 4,
        out: "",
        err: "",
      });
    });

    test("result arrays are plain and survive structuredClone", async () => {
      const { result } = await runs("echo out; echo err >&2", {});
      const empty = (await runs("true", {})).result;
      for (const array of [result.stdout, result.stderr, empty.stdout]) {
        expect(Object.getPrototypeOf(array)).toBe(Uint8Array.prototype);
        expect(array.byteOffset).toBe(0);
        expect(array.buffer.byteLength).toBe(array.byteLength);
      }
      expect(structuredClone(result)).toEqual(result);
    });
  });
}
