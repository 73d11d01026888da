/** 2,000 calls of one client grow nothing in the server. */

import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

import { jsonOfHost } from "../../integration/support/host-program.js";
import { describeSandboxed } from "../../integration/support/requirements.js";

type Measured = { descriptors: number; threads: number; processes: number; residentBytes: number };

// What V8 may widen its heap by in 500 calls; the stores of the server are full after the warm-up.
const kMarginBytes = 4 * 2 ** 20;
// Four that stand, with four descriptors each.
const kOfSandboxes = 16;

describeSandboxed("2,000 calls by MCP", () => {
  test("grow nothing", async () => {
    const program = fileURLToPath(new URL("soak.mjs", import.meta.url));
    const said = await jsonOfHost<{ measured: Measured[]; last: string }>([
      ...[process.execPath, program, "2000"],
    ]);
    const { measured, last } = said;
    expect(last).toBe("on\n");
    const [first] = measured;
    for (const { descriptors, threads } of measured) {
      expect(descriptors).toBeLessThanOrEqual((first?.descriptors ?? 0) + kOfSandboxes);
      expect(threads).toBe(first?.threads);
    }
    // Only what every round adds is growth: how many sandboxes stand is chance.
    const leastGrown = (of: "descriptors" | "processes" | "residentBytes") =>
      Math.min(...measured.slice(1).map((now, at) => now[of] - (measured[at]?.[of] ?? 0)));
    expect(leastGrown("descriptors")).toBeLessThanOrEqual(0);
    expect(leastGrown("processes")).toBeLessThanOrEqual(0);
    expect(leastGrown("residentBytes")).toBeLessThan(kMarginBytes);
  });
});
