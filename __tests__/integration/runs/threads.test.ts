/** Promise 8: worker threads do not disturb each other, and leave nothing when they end in mid-run. */

import { beforeAll, expect, test } from "vitest";

import { describeSandboxed } from "../support/gate.js";
import { runHost } from "../support/host.js";
import { buildProbe } from "../support/probe.js";
import { tempDirectory } from "../support/temp.js";

let probe = "";
beforeAll(() => {
  probe = buildProbe(tempDirectory("tools"));
});

describeSandboxed("8: worker threads", () => {
  test("several and the main thread run at once", async () => {
    const ended = await runHost(probe, "workers.mjs", { args: ["together", tempDirectory()] });
    expect(ended).toMatchObject({ code: 0, left: [], err: "" });
    expect(JSON.parse(ended.out)).toEqual({ good: Array(5).fill(true), left: [] });
  });

  test.each(["terminate", "busy", "exit", "handles"])("ended in mid-run by %s", async (how) => {
    const ended = await runHost(probe, "workers.mjs", { args: [how, tempDirectory()] });
    expect(ended).toMatchObject({ code: 0, left: [], err: "" });
    expect(JSON.parse(ended.out)).toEqual({ left: [], goesOn: true });
  });
});
