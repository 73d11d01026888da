/** Commands of a session that have touched gigabytes: their death takes the kernel seconds. */

import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";

import { isSanitized } from "../../support/sanitized.js";
import { testUnless } from "../support/gate.js";
import { buildProbe } from "../support/probe.js";
import { run } from "../support/seen.js";
import { describeSessions } from "../support/sessions.js";
import { tempDirectory } from "../support/temp.js";

const kGiB = 2 ** 30;
const kMany = Math.min(4 * availableParallelism(), 32);
const kSlowMs = 120_000;

/** As much as the machine has to spare, of 2, 4 and 8 GiB; 0 where it has not even that. */
function gigabytesToSpare(): number {
  const line = /^MemAvailable:\s+(\d+) kB$/m.exec(readFileSync("/proc/meminfo", "utf8"));
  const available = (Number(line?.[1] ?? 0) * 1024) / kGiB;
  const sizes = isSanitized ? [2] : [8, 4, 2]; // what takes long is the kernel's work
  return sizes.find((gigabytes) => available > gigabytes + 3) ?? 0;
}

describeSessions("a session with a command that has touched gigabytes", (maker) => {
  const gigabytes = gigabytesToSpare();

  // A process gives its memory back itself, when it gets a processor: here it has to share them.
  const whyNot = gigabytes === 0 ? "fewer than 5 GiB of memory are available" : undefined;
  testUnless(
    whyNot,
    `goes on when ${gigabytes} GiB are aborted`,
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
        [join(maker.inside(workspace), "probe"), "fill", `${gigabytes}`],
        {
          signal: controller.signal,
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
      process.stdout.write(`${maker.name}: ${gigabytes} GiB, settled after ${late} ms\n`);
      expect(seen).toMatchObject({ kind: "aborted", exitCode: 130, out: "OK" });
      expect(seen.result.audits?.[0]?.kill).toBe("proved");
      expect(seen.result.usage?.peakMemoryBytes).toBeGreaterThan(gigabytes * 0.9 * kGiB);
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
