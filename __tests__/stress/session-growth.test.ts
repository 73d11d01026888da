/** Thousands of commands in one session leave nothing behind, in the host or in the session. */

import { beforeAll, expect, test } from "vitest";

import { runHost } from "../integration/support/host-program.js";
import { buildProbe } from "../integration/support/probe.js";
import { describeSandboxed, describeUnless } from "../integration/support/requirements.js";
import { whyNo } from "../integration/support/runtimes.js";
import { tempDirectory } from "../integration/support/temp.js";

// What V8 and the allocator may keep of each 2,000 runs; a leak of 4 KiB a run would be past it.
const kMarginBytes = 8 * 2 ** 20;
// Of a launcher, in pages: what its stack touches.
const kMarginPages = 16;

type Own = { pages: number; open: number }[];

const kRuns = process.env.CI === "true" ? 1_000 : 2_000; // three rounds of them

let probe = "";
beforeAll(() => {
  probe = buildProbe(tempDirectory("tools"));
});

async function grow(kind: string): Promise<void> {
  const args = [kind, tempDirectory(), String(kRuns)];
  const ended = await runHost(probe, "../../stress/session-growth.mjs", { args });
  expect(ended).toMatchObject({ code: 0, left: [], err: "" });
  const { before, after, seen, grownBytes, counted, left } = JSON.parse(ended.out);
  expect(Object.keys(seen).sort()).toEqual([
    "ERR_INVALID_ARG_VALUE",
    "aborted",
    "exited",
    "not-executable",
    "not-found",
    "setup-failed",
    "signaled",
    "timed-out",
  ]);
  expect(counted).toBeGreaterThan(0);
  expect(after.own).toHaveLength(before.own.length);
  for (const [at, { pages, open }] of (after.own as Own).entries()) {
    expect(open).toBe(before.own[at].open);
    expect(pages - before.own[at].pages).toBeLessThan(kMarginPages);
  }
  expect(after.descriptors).toBe(before.descriptors);
  expect(after.threads).toBe(before.threads);
  expect(grownBytes).toBeLessThan(kMarginBytes);
  expect(left).toEqual([]);
}

describeSandboxed("8: thousands of commands in one session, bubblewrap", () => {
  test("grow nothing", () => grow("bubblewrap"));
});

describeUnless(whyNo("landlock"), "8: thousands of commands in one session, landlock", () => {
  test("grow nothing", () => grow("landlock"));
});
