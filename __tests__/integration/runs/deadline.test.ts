/** Promise 6: the deadline holds, whatever the command and the host's JavaScript thread do. */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";

import { eventually } from "../../support/waits.js";
import { BubblewrapNativeRunner } from "../support/package.js";
import { kMarker, marked, newMark } from "../support/processes.js";
import { describeSandboxed } from "../support/requirements.js";
import { run } from "../support/results.js";
import { kRunners } from "../support/runners.js";
import { tempDirectory } from "../support/temp.js";

const kTimeoutMs = 1000; // a sandbox stands by then, also on a busy machine
const kSettleMs = 2000;
const kClockMs = 2; // timers count whole milliseconds

const kHolders = {
  "that waits": "sleep 1000",
  "that ignores TERM": "trap '' TERM INT HUP; while :; do sleep 1000; done",
  "that spins": "while :; do :; done",
  "that stopped itself": "kill -STOP $$",
  "whose children hold its pipes":
    "(trap '' TERM; sleep 1000) & setsid sleep 1000 & exec sleep 1000",
  "that floods both streams": "yes & yes >&2",
};

const timeline = (file: string): number[] =>
  readFileSync(file, "utf8").trim().split("\n").map(Number);

describeSandboxed("6: the deadline", () => {
  for (const [label, makeRunner] of kRunners) {
    test.concurrent.for(Object.entries(kHolders))(
      `${label}: ends a command %s`,
      async ([, script]) => {
        const mark = newMark();
        const seen = await run(makeRunner(tempDirectory()), `echo kept; ${script}`, {
          env: { [kMarker]: mark },
          limits: { timeoutMs: kTimeoutMs, maxStdoutBytes: 4, maxStderrBytes: 4 },
        });
        expect(marked(mark)).toEqual([]);
        expect(seen).toMatchObject({ exitCode: 124, kind: "timed-out" });
        expect(seen.result.outcome).toEqual({ kind: "timed-out" });
        expect(seen.out.slice(0, 4)).toBe(script.startsWith("yes") ? seen.out : "kept");
        const [audit] = seen.result.audits;
        expect(audit).toMatchObject({ timedOut: true, signal: "SIGKILL", outcome: "timed-out" });
        expect(audit?.durationMs).toBeGreaterThan(kTimeoutMs - kClockMs);
        expect(audit?.durationMs).toBeLessThan(kTimeoutMs + kSettleMs);
      },
    );

    test(`${label}: holds while the JavaScript thread is busy`, async () => {
      const workspace = tempDirectory();
      const script = "while :; do date +%s%3N >> stamps; sleep 0.02; done";
      const timeoutMs = label === "remote" ? 2 * kTimeoutMs : kTimeoutMs;
      const running = run(makeRunner(workspace), script, { limits: { timeoutMs } });
      // On another machine it starts only when this thread has let the message go.
      const hasBegun = () => existsSync(join(workspace, "stamps"));
      if (label === "remote") await eventually("it has begun", hasBegun);
      const begun = Date.now();
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, timeoutMs + 2 * kSettleMs);
      const seen = await running;
      expect(seen.kind).toBe("timed-out");
      expect(seen.result.audits[0]?.durationMs).toBeLessThan(timeoutMs + kSettleMs);
      const stamps = timeline(join(workspace, "stamps"));
      expect(stamps.length).toBeGreaterThan(1);
      expect(stamps.at(-1)).toBeLessThan(begun + timeoutMs + kSettleMs);
    });

    test(`${label}: without one, a command ends by itself`, async () => {
      const workspace = tempDirectory();
      for (const timeoutMs of [
        Number.POSITIVE_INFINITY,
        Number.MAX_VALUE,
        2 ** 53,
        2 ** 31,
        86_400_000,
      ]) {
        const seen = await run(makeRunner(workspace), "sleep 0.1; echo done", {
          limits: { timeoutMs },
        });
        expect([timeoutMs, seen.kind, seen.out]).toEqual([timeoutMs, "exited", "done"]);
      }
    });
  }

  test("counts from the start of a run, not from the call", async () => {
    const runner = new BubblewrapNativeRunner({ shadowDir: tempDirectory(), maxConcurrent: 1 });
    const limits = { timeoutMs: 4000 };
    const runs = Array.from({ length: 5 }, () => run(runner, ["sleep", "1"], { limits }));
    for (const seen of await Promise.all(runs)) expect(seen.kind).toBe("exited");
  });

  test("is no more once a command has ended", async () => {
    const runner = new BubblewrapNativeRunner({ shadowDir: tempDirectory() });
    const seen = await run(runner, "exit 7", { limits: { timeoutMs: 2000 } });
    await delay(50);
    expect(seen).toMatchObject({ exitCode: 7, kind: "exited" });
    expect(seen.result.audits[0]).toMatchObject({ timedOut: false, signal: null });
  });

  test("may be a fraction of a millisecond", async () => {
    const runner = new BubblewrapNativeRunner({ shadowDir: tempDirectory() });
    const seen = await run(runner, ["sleep", "1000"], { limits: { timeoutMs: 0.25 } });
    expect(seen).toMatchObject({ exitCode: 124, kind: "timed-out" });
  });
});
