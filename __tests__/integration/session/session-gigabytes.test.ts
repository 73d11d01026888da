/** Commands of a session that have touched gigabytes: their death takes the kernel seconds. */

import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";

import { buildProbe } from "../support/probe.js";
import { testUnless } from "../support/requirements.js";
import { run } from "../support/results.js";
import { describeSessions } from "../support/sessions.js";
import { tempDirectory } from "../support/temp.js";

const kGiB = 2 ** 30;
const kMany = Math.min(4 * availableParallelism(), 32);
const kSlowMs = 120_000;

/** What takes long is the kernel's work; on a machine that is quick at it, more shows more. */
const kGigabytes = Number(process.env.NATIVE_RUNNER_GIGABYTES ?? 2);

function hasRoom(): boolean {
  const line = /^MemAvailable:\s+(\d+) kB$/m.exec(readFileSync("/proc/meminfo", "utf8"));
  return (Number(line?.[1] ?? 0) * 1024) / kGiB > kGigabytes + 3;
}

describeSessions("a session with a command that has touched gigabytes", (maker) => {
  // A process gives its memory back itself, when it gets a processor: here it has to share them.
  const whyNot = hasRoom() ? undefined : `fewer than ${kGigabytes + 3} GiB of memory are available`;
  testUnless(
    whyNot,
    `goes on when ${kGigabytes} GiB are aborted`,
    async () => {
      const workspace = tempDirectory();
      buildProbe(workspace);
      await using session = await maker.open({}, workspace);
      const server = await session.start({ argv: ["sh", "-c", "echo up; read line; echo $line"] });
      const controller = new AbortController();
      let isFilled = () => {};
      const filled = new Promise<void>((resolve) => {
        isFilled = resolve;
      });
      const running = run(
        session,
        [join(maker.inside(workspace), "probe"), "fill", `${kGigabytes}`],
        {
          signal: controller.signal,
          limits: { timeoutMs: kSlowMs },
          onStdout: () => isFilled(),
        },
      );
      await Promise.race([filled, running]);
      const burn = { argv: ["sh", "-c", "while :; do :; done"] };
      const busy = await Promise.all(Array.from({ length: kMany }, () => session.start(burn)));
      const abortedAt = performance.now();
      controller.abort();
      const seen = await running;
      const late = (performance.now() - abortedAt).toFixed(0);
      process.stdout.write(`${maker.name}: ${kGigabytes} GiB, settled after ${late} ms\n`);
      expect(seen).toMatchObject({ kind: "aborted", exitCode: 130, out: "OK" });
      expect(seen.result.audits?.[0]?.kill).toBe("proved");
      expect(seen.result.usage?.peakMemoryBytes).toBeGreaterThan(kGigabytes * 0.9 * kGiB);
      expect(session.isOpen).toBe(true);
      const ended = await Promise.all(busy.map((each) => each.stop()));
      expect(new Set(ended.map(({ outcome }) => outcome.kind))).toEqual(new Set(["aborted"]));
      server.stdin.end("still here\n");
      expect((await server.result).outcome.kind).toBe("exited");
      expect((await run(session, "echo on")).out).toBe("on");
    },
    kSlowMs,
  );
});
