/** onStdout and onStderr: the kept head, in order, while the command runs. */

import { expect, test } from "vitest";

import { kMarker, marked, newMark } from "../support/processes.js";
import { describeSandboxed } from "../support/requirements.js";
import { run } from "../support/results.js";
import { kRunners } from "../support/runners.js";
import { tempDirectory } from "../support/temp.js";

const joined = (chunks: readonly Uint8Array[]): Buffer => Buffer.concat(chunks);

for (const [label, makeRunner] of kRunners) {
  describeSandboxed(`streaming, ${label}`, () => {
    test("chunks come before the end, and make the result", async () => {
      const out: Uint8Array[] = [];
      const err: Uint8Array[] = [];
      const controller = new AbortController();
      const { result } = await run(
        makeRunner(tempDirectory()),
        "echo first; echo oops >&2; sleep 1000",
        {
          signal: controller.signal,
          onStdout: (chunk) => {
            out.push(chunk);
            if (err.length > 0) controller.abort(); // only a chunk that came while it runs can do so
          },
          onStderr: (chunk) => {
            err.push(chunk);
            if (out.length > 0) controller.abort();
          },
        },
      );
      expect(result.outcome.kind).toBe("aborted");
      expect(joined(out).toString()).toBe("first\n");
      expect(joined(err).toString()).toBe("oops\n");
      for (const chunk of [...out, ...err]) {
        expect(Object.getPrototypeOf(chunk)).toBe(Uint8Array.prototype);
      }
    });

    test("a megabyte in order, to the byte of the limit", async () => {
      const out: Uint8Array[] = [];
      const limit = 1_000_003;
      const { result } = await run(makeRunner(tempDirectory()), "seq 1 400000", {
        limits: { maxStdoutBytes: limit },
        onStdout: (chunk) => out.push(chunk),
      });
      expect(result).toMatchObject({ exitCode: 0, truncatedStdout: true });
      expect(result.stdout.length).toBe(limit);
      expect(joined(out).equals(Buffer.from(result.stdout))).toBe(true);
    });

    test("a host that is busy with its first chunk misses none", async () => {
      const out: Uint8Array[] = [];
      const written = 3 * 1024 ** 2 + 4_711;
      const { result } = await run(
        makeRunner(tempDirectory()),
        `seq 1 9999999 | head -c ${written}`,
        {
          limits: { maxStdoutBytes: 2 * written },
          onStdout: (chunk) => {
            if (out.length === 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
            out.push(chunk);
          },
        },
      );
      expect(result.stdout.length).toBe(written);
      expect(joined(out).equals(Buffer.from(result.stdout))).toBe(true);
    });

    test.each([9_000, 1_000_000])(
      "of head and tail of %i bytes, all chunks come",
      async (limit) => {
        const out: Uint8Array[] = [];
        const written = 4 * limit + 1;
        const { result } = await run(
          makeRunner(tempDirectory()),
          `seq 1 9999999 | head -c ${written}`,
          {
            limits: { maxStdoutBytes: limit, keep: "head+tail" },
            onStdout: (chunk) => out.push(chunk),
          },
        );
        const all = Buffer.from(
          Array.from({ length: 1 + written / 4 }, (_, at) => at + 1).join("\n"),
        );
        const shown = joined(out);
        expect(shown.equals(all.subarray(0, shown.length))).toBe(true);
        expect(shown.length).toBeGreaterThanOrEqual(limit / 2);
        const kept = [all.subarray(0, limit / 2), all.subarray(written - limit / 2, written)];
        expect(Buffer.concat(kept).equals(Buffer.from(result.stdout))).toBe(true);
      },
    );

    test("nothing comes for a limit of 0", async () => {
      const out: Uint8Array[] = [];
      await run(makeRunner(tempDirectory()), ["echo", "text"], {
        limits: { maxStdoutBytes: 0 },
        onStdout: (chunk) => out.push(chunk),
      });
      expect(joined(out).length).toBe(0);
    });

    test("all of it comes before exec settles", async () => {
      let settled = false;
      let late = 0;
      await run(makeRunner(tempDirectory()), "seq 1 50000", {
        onStdout: () => {
          if (settled) late += 1;
        },
      });
      settled = true;
      await new Promise((resolve) => setImmediate(resolve));
      expect(late).toBe(0);
    });

    test.each(["onStdout", "onStderr"] as const)(
      "a throw in %s ends the run and is what exec rejects with",
      async (name) => {
        const mark = newMark();
        const mistake = new Error("the host's own mistake");
        let calls = 0;
        const running = run(makeRunner(tempDirectory()), "while :; do echo x; echo y >&2; done", {
          env: { [kMarker]: mark },
          [name]: () => {
            calls += 1;
            throw mistake;
          },
        });
        await expect(running).rejects.toBe(mistake);
        expect(calls).toBe(1);
        expect(marked(mark)).toEqual([]);
      },
    );

    test("callbacks may start and await other runs", async () => {
      const runner = makeRunner(tempDirectory());
      const inner: Promise<string>[] = [];
      await run(runner, "echo a; sleep 0.1; echo b", {
        onStdout: (chunk) => {
          inner.push(run(runner, ["cat"], { stdin: chunk }).then(({ out }) => out));
        },
      });
      expect((await Promise.all(inner)).join("")).toBe("ab");
    });
  });
}
