/** Promise 8: thousands of runs, failed ones included, leave nothing behind in the host process. */

import { beforeAll, expect, test } from "vitest";

import { describeSandboxed } from "../integration/support/gate.js";
import { runHost } from "../integration/support/host.js";
import { buildProbe } from "../integration/support/probe.js";
import { tempDirectory } from "../integration/support/temp.js";

// What V8 and the allocator may keep of each 2,000 runs; a leak of 4 KiB a run would be past it.
const kMarginBytes = 8 * 2 ** 20;

let probe = "";
beforeAll(() => {
  probe = buildProbe(tempDirectory("tools"));
});

describeSandboxed("8: 2,000 runs", () => {
  test("no descriptor, process, thread or memory is left over", async () => {
    const args = [tempDirectory()];
    const ended = await runHost(probe, "../../stress/growth.mjs", { args });
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
    expect(after.threads).toBe(before.threads);
    expect(grownBytes).toBeLessThan(kMarginBytes);
  });
});
