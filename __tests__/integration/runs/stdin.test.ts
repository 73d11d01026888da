/** Standard input: all bytes, then end of file; no command can hang or crash the host by it. */

import { createHash, randomBytes } from "node:crypto";
import { expect, test } from "vitest";

import { describeSandboxed } from "../support/requirements.js";
import { bytes, run } from "../support/results.js";
import { kRunners } from "../support/runners.js";
import { tempDirectory } from "../support/temp.js";

const kBig = new Uint8Array(randomBytes(16 * 2 ** 20));
const hash = (data: Uint8Array): string => createHash("sha256").update(data).digest("hex");

for (const [label, makeRunner] of kRunners) {
  describeSandboxed(`stdin, ${label}`, () => {
    test("none is end of file at once", async () => {
      for (const input of [{}, { stdin: new Uint8Array() }]) {
        const seen = await run(makeRunner(tempDirectory()), "cat; echo ended", input);
        expect(seen).toMatchObject({ exitCode: 0, out: "ended" });
      }
    });

    test("all bytes, then end of file", async () => {
      const stdin = new Uint8Array([0, 1, 255, 10, 0]);
      const { result } = await run(makeRunner(tempDirectory()), ["cat"], { stdin });
      expect(result.stdout).toEqual(stdin);
    });

    test("a string is UTF-8, with U+FFFD for half a character", async () => {
      const { result } = await run(makeRunner(tempDirectory()), ["cat"], {
        stdin: "a\0ü€😀\ud800",
      });
      expect(result.stdout).toEqual(bytes("a\0ü€😀\ufffd"));
      expect((await run(makeRunner(tempDirectory()), ["cat"], { stdin: "" })).out).toBe("");
    });

    test("16 MiB through cat", async () => {
      const limits = { maxStdoutBytes: kBig.length };
      const { result } = await run(makeRunner(tempDirectory()), ["cat"], { stdin: kBig, limits });
      expect(result).toMatchObject({
        exitCode: 0,
        stdoutBytes: kBig.length,
        truncatedStdout: false,
      });
      expect(hash(result.stdout)).toBe(hash(kBig));
    });

    test("16 MiB through a slow reader", async () => {
      const script = "sleep 0.3; head -c 1000000 | sha256sum; sleep 0.3; cat | sha256sum";
      const seen = await run(makeRunner(tempDirectory()), script, { stdin: kBig });
      const parts = [kBig.subarray(0, 1_000_000), kBig.subarray(1_000_000)];
      expect(seen.out.split("\n").map((line) => line.slice(0, 64))).toEqual(parts.map(hash));
    });

    test.each([
      ["true", ["true"], 0],
      ["one that reads a little", ["head", "-c", "10"], 0],
      ["one that closes it", ["sh", "-c", "exec <&-; exit 5"], 5],
      ["one that is not found", ["no-such-command"], 127],
    ])("16 MiB to %s", async (_, command, exitCode) => {
      const seen = await run(makeRunner(tempDirectory()), command, { stdin: kBig });
      expect(seen.exitCode).toBe(exitCode);
    });

    test("16 MiB to one that is ended at its deadline", async () => {
      const limits = { timeoutMs: 300 };
      const seen = await run(makeRunner(tempDirectory()), ["sleep", "1000"], {
        stdin: kBig,
        limits,
      });
      expect(seen.kind).toBe("timed-out");
    });

    test("a part of a larger buffer, and of Node's pool", async () => {
      const part = bytes("0123456789").subarray(3, 6);
      expect((await run(makeRunner(tempDirectory()), ["cat"], { stdin: part })).out).toBe("345");
      const pooled = Buffer.from("pooled");
      expect((await run(makeRunner(tempDirectory()), ["cat"], { stdin: pooled })).out).toBe(
        "pooled",
      );
    });

    test("is copied at the call", async () => {
      const stdin = bytes("as it was");
      const running = run(makeRunner(tempDirectory()), "sleep 0.1; cat", { stdin });
      stdin.fill(0);
      expect((await running).out).toBe("as it was");
    });
  });
}
