// As root too: limits, ids and set-up differ for root.
/** Promise 5 at any moment: a run that is ended in its first milliseconds, a host that dies. */

import { randomInt } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { beforeAll, expect, test } from "vitest";

import { eventually } from "../../support/waits.js";
import { killHost, runHost, startHost } from "../support/host-program.js";
import { buildProbe } from "../support/probe.js";
import { describeSandboxed } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";

const kMoments = 21;
/** Of each millisecond. */
const kTries = { strict: 8, warm: 4, compat: 2, local: 2 };
const kTimes = Number(process.env.NATIVE_RUNNER_TIMES ?? 1); // as many tries
const { NATIVE_RUNNER_ALSO_AS_USER: isAlsoAsUser, NATIVE_RUNNER_ALSO_AS_ROOT: isAlsoAsRoot } =
  process.env;
/** Root and an ordinary user run this side by side: each has half of them. */
const kShare = isAlsoAsUser || isAlsoAsRoot ? 0.5 : 1;
const kSweepMs = 600_000 * kTimes;
const kKills = 12;

let probe = "";
beforeAll(() => {
  probe = buildProbe(tempDirectory("tools"));
});

describeSandboxed("5: a run that is ended 0 to 20 ms after its start", () => {
  const sweeps = Object.entries(kTries).flatMap(([kind, tries]) =>
    ["abort", "timeout"].map((how) => ({ kind, how, tries: tries * kTimes * kShare })),
  );

  test.concurrent.for(sweeps)(
    "$kind, by $how: nothing is left when exec settles",
    {
      timeout: kSweepMs,
    },
    async ({ kind, how, tries }) => {
      const args = [kind, how, String(tries), tempDirectory()];
      const ended = await runHost(probe, "ends-runs-after-each-ms.mjs", { args });
      expect(ended).toMatchObject({ code: 0, left: [], err: "" });
      const { kinds, left } = JSON.parse(ended.out);
      expect(left.join("\n")).toBe("");
      expect(kinds).toEqual({ [how === "abort" ? "aborted" : "timed-out"]: kMoments * tries });
    },
  );

  test("while what a careless host leaves is found", async () => {
    const ended = await runHost(probe, "leaves-a-process.mjs", { boundMs: 100 });
    expect(JSON.parse(ended.out.split("\n")[0] ?? "")).toHaveLength(1);
    expect(ended.code).toBe(97);
    expect(ended.left).toEqual([expect.stringContaining("sleep")]);
  });
});

describeSandboxed("5: a host that ends in mid-run", () => {
  test("by SIGKILL, at any moment: nothing is left", { timeout: kSweepMs }, async () => {
    for (let round = 0; round < kKills; round += 1) {
      const host = startHost(probe, "runs-without-end.mjs", { args: [tempDirectory()] });
      await eventually("the host is ready", () => host.said().includes("ready"));
      await delay(randomInt(0, 80));
      killHost(host);
      expect(await host.ended).toMatchObject({ code: 128 + 9, left: [] });
    }
  });

  const ends: [string, number][] = [
    ["exit", 7],
    ["in-callback", 7],
    ["abort-and-exit", 7],
    ["throw", 1],
    ["reject", 1],
    ["signal", 128 + 15],
  ];
  test.each(ends)("by %s: nothing is left, and it exits with %i", async (how, code) => {
    const ended = await runHost(probe, "ends-in-mid-run.mjs", { args: [how, tempDirectory()] });
    expect(ended.out).toContain("started");
    expect(ended).toMatchObject({ code, left: [] });
  });

  test("a host whose runs are over ends by itself", async () => {
    const ended = await runHost(probe, "idle.mjs", { args: [tempDirectory()] });
    expect(ended).toMatchObject({ code: 0, left: [], err: "", out: "[5,5,5]\n" });
  });
});
