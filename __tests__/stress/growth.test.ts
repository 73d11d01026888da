/** Promise 8: thousands of runs, failed ones included, leave nothing behind in the host process, of whatever engine. */

import { beforeAll, expect, test } from "vitest";

import { engines } from "../integration/other-hosts/engines.js";
import { type HostOptions, runHost } from "../integration/support/host-program.js";
import { buildProbe } from "../integration/support/probe.js";
import { describeSandboxed, testUnless } from "../integration/support/requirements.js";
import { tempDirectory } from "../integration/support/temp.js";

// What V8 and the allocator may keep of each 2,000 runs; a leak of 4 KiB a run would be past it.
const kMarginBytes = 8 * 2 ** 20;

// Three rounds of them; fewer in CI, and fewest where another engine shares all but its host with Node.js.
const isCi = process.env.CI === "true";
const kRuns = isCi ? 1_000 : 2_000;
const kRunsElsewhere = isCi ? 400 : kRuns;

let probe = "";
beforeAll(() => {
  probe = buildProbe(tempDirectory("tools"));
});

async function measured(runs: number, options: HostOptions = {}) {
  const args = [tempDirectory(), String(runs)];
  const ended = await runHost(probe, "../../stress/growth.mjs", { ...options, args });
  expect(ended).toMatchObject({ code: 0, left: [], err: "" });
  const { before, after, seen, grownBytes } = JSON.parse(ended.out);
  // The mixture holds every end there is.
  expect(Object.keys(seen).sort()).toEqual([
    "ERR_INVALID_ARG_VALUE",
    "ERR_SANDBOX_UNAVAILABLE",
    "aborted",
    "exited",
    "not-executable",
    "not-found",
    "on purpose",
    "setup-failed",
    "signaled",
    "timed-out",
  ]);
  expect(after.processes).toEqual([]);
  expect(after.descriptors).toBe(before.descriptors);
  expect(grownBytes).toBeLessThan(kMarginBytes);
  return { before, after };
}

describeSandboxed("8: thousands of runs", () => {
  test("no descriptor, process, thread or memory is left over", async () => {
    const { before, after } = await measured(kRuns);
    expect(after.threads).toBe(before.threads);
  });

  for (const { name, words, whyNot } of engines()) {
    testUnless(
      whyNot,
      `nor under ${name}, which has threads of its own that come and go`,
      async () => {
        const { before, after } = await measured(kRunsElsewhere, { words });
        expect(after.threads).toBeLessThanOrEqual(before.threads);
      },
    );
  }
});
