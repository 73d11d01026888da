/** Many runs at once: 500 in flight, 1,000 waiting in line, floods under a deadline. */

import { execFileSync } from "node:child_process";
import { closeSync, openSync, readdirSync, readlinkSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { BubblewrapNativeRunner, LocalNativeRunner } from "../integration/support/package.js";
import { childrenOf, kMarker, marked, newMark } from "../integration/support/processes.js";
import { describeSandboxed } from "../integration/support/requirements.js";
import { run } from "../integration/support/results.js";
import { tempDirectory } from "../integration/support/temp.js";
import { eventually } from "../support/waits.js";

/**
 * Our children but for one that still runs our own program: for a moment, a helper of the supervisor's
 * that cuts a new sandbox' mounts off from the host's is one, and no run.
 */
function startedPrograms(): number[] {
  return childrenOf(process.pid).filter((pid) => {
    try {
      return readlinkSync(`/proc/${pid}/exe`) !== readlinkSync("/proc/self/exe");
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === "EACCES"; // a launcher, which can't be looked into
    }
  });
}

const kMany = 500;
const kLine = 1000;
const kWidth = 8;

const makers = {
  strict: (shadowDir: string, maxConcurrent?: number) =>
    new BubblewrapNativeRunner({ shadowDir, maxConcurrent, prewarm: 0, clone: "never" }),
  local: (shadowDir: string, maxConcurrent?: number) =>
    new LocalNativeRunner({ shadowDir, maxConcurrent }),
};

for (const [label, makeRunner] of Object.entries(makers)) {
  describeSandboxed(`a crowd, ${label}`, () => {
    test("500 at once", async () => {
      const workspace = tempDirectory();
      const gate = join(workspace, "gate");
      execFileSync("mkfifo", [gate]);
      const mark = newMark();
      const runner = makeRunner(workspace, kMany);
      // Each is there before the first may go on: it takes one byte off a fifo.
      const script =
        'echo "$1" > "up.$1"; dd if=gate bs=1 count=1 2> /dev/null; echo " $1"; exit $(($1 % 200))';
      const runs = Array.from({ length: kMany }, (_, i) =>
        run(runner, ["sh", "-c", script, "sh", String(i)], { env: { [kMarker]: mark } }),
      );
      // None ends before its byte: one that does would be waited for in vain, and says why it ended.
      const early: unknown[] = [];
      let isOpen = false;
      for (const started of runs) {
        void started.then((seen) => {
          if (!isOpen) early.push(seen);
        });
      }
      const up = () => readdirSync(workspace).filter((name) => name.startsWith("up.")).length;
      for (let seen = up(); seen < kMany && early.length === 0; seen = up()) {
        await eventually(`more than ${seen} are up`, () => up() > seen || early.length > 0);
      }
      expect(early).toEqual([]);
      expect(up()).toBe(kMany);
      isOpen = true;
      const writer = openSync(gate, "r+"); // opens at once, and stays until the last has read
      writeSync(writer, "x".repeat(kMany));
      const seen = await Promise.all(runs);
      closeSync(writer);
      for (const [i, { out, exitCode }] of seen.entries()) {
        expect([out, exitCode]).toEqual([`x ${i}`, i % 200]);
      }
      expect(marked(mark)).toEqual([]);
      expect(childrenOf(process.pid)).toEqual([]);
    });

    test("1,000 calls at once wait their turn", async () => {
      const workspace = tempDirectory();
      const gate = join(workspace, "gate");
      execFileSync("mkfifo", [gate]);
      const runner = makeRunner(workspace, kWidth);
      let settled = 0;
      // Each of them waits for the gate until it was opened once, so the first are seen for sure.
      const script = '[ -e open ] || { > "up.$1"; read -r _ < gate; }; echo "$1"';
      const runs = Array.from({ length: kLine }, (_, i) =>
        run(runner, ["sh", "-c", script, "sh", String(i)]).finally(() => {
          settled += 1;
        }),
      );
      const up = () => readdirSync(workspace).filter((name) => name.startsWith("up.")).length;
      await eventually("the lane is full", () => up() === kWidth || settled > 0);
      expect(startedPrograms().length).toBe(kWidth);
      let most = 0;
      const watching = setInterval(() => {
        most = Math.max(most, startedPrograms().length);
      }, 50);
      writeFileSync(join(workspace, "open"), "");
      const writer = openSync(gate, "r+");
      writeSync(writer, "\n".repeat(kWidth));
      const seen = await Promise.all(runs);
      clearInterval(watching);
      closeSync(writer);
      expect(seen.map(({ out }) => out)).toEqual(runs.map((_, i) => String(i)));
      expect(settled).toBe(kLine);
      expect(most).toBeLessThanOrEqual(kWidth);
    });
  });
}

describeSandboxed("a crowd without a lane of its own", () => {
  test("1,000 calls on many runners share one, and all end", async () => {
    let most = 0;
    const watching = setInterval(() => {
      most = Math.max(most, startedPrograms().length);
    }, 50);
    const runs = Array.from({ length: kLine }, (_, i) =>
      run(makers.strict(tempDirectory()), ["sh", "-c", `exit ${i % 7}`]),
    );
    const codes = (await Promise.all(runs)).map(({ exitCode }) => exitCode);
    clearInterval(watching);
    expect(codes).toEqual(runs.map((_, i) => i % 7));
    const { availableParallelism } = await import("node:os");
    expect(most).toBeLessThanOrEqual(Math.max(8, 4 * availableParallelism()));
  });

  test("floods do not keep a deadline from coming, nor other runs from their turn", async () => {
    const runner = makers.strict(tempDirectory());
    const mark = newMark();
    const flood = "while :; do cat /dev/zero; done & cat /dev/zero >&2 & yes";
    const env = { [kMarker]: mark };
    const floods = Array.from({ length: 6 }, () =>
      run(runner, flood, { env, limits: { timeoutMs: 2000 } }),
    );
    const quiet = Array.from({ length: 10 }, (_, i) => run(runner, ["echo", String(i)]));
    expect((await Promise.all(quiet)).map(({ out }) => out)).toEqual(
      quiet.map((_, i) => String(i)),
    );
    for (const { kind, result } of await Promise.all(floods)) {
      expect(kind).toBe("timed-out");
      expect(result.stdout.length).toBe(2 ** 20);
      expect(result.stdoutBytes).toBeGreaterThan(2 ** 20);
      expect(result.audits[0]?.durationMs).toBeLessThan(2000 + 5000);
    }
    expect(marked(mark)).toEqual([]);
  });
});
