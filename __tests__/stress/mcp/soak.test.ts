/** 2,000 calls of one client grow nothing in the server. */

import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

import { describeSandboxed } from "../../integration/support/gate.js";
import { jsonOfHost } from "../../integration/support/host.js";

type Measured = { descriptors: number; threads: number; residentBytes: number };

// What V8 may widen its heap by in 500 calls; the stores of the server are full after the warm-up.
const kMarginBytes = 4 * 2 ** 20;

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
      expect(descriptors).toBeLessThanOrEqual((first?.descriptors ?? 0) + 4); // sandboxes that stand
      expect(threads).toBe(first?.threads);
    }
    // Of memory only what every round adds is growth.
    const grown = measured.slice(1).map(({ residentBytes }, at) => {
      return residentBytes - (measured[at]?.residentBytes ?? 0);
    });
    expect(Math.min(...grown)).toBeLessThan(kMarginBytes);
  });
});
