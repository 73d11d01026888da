/** Aborts, deadlines, exits and ending workers, all at once and at random: nothing is left. */

import { beforeAll, expect, test } from "vitest";

import { describeSandboxed } from "../integration/support/gate.js";
import { runHost } from "../integration/support/host.js";
import { buildProbe } from "../integration/support/probe.js";
import { tempDirectory } from "../integration/support/temp.js";

const kSeconds = 20;

let probe = "";
beforeAll(() => {
  probe = buildProbe(tempDirectory("tools"));
});

describeSandboxed("chaos", () => {
  test("for twenty seconds", async () => {
    const args = [String(kSeconds), tempDirectory()];
    const ended = await runHost(probe, "../../stress/chaos.mjs", { args });
    expect(ended).toMatchObject({ code: 0, left: [], err: "" });
    const { seen, ...rest } = JSON.parse(ended.out);
    expect(rest).toEqual({ unexpected: 0, left: [], descriptors: 0 });
    for (const kind of ["exited", "timed-out", "aborted"]) expect(seen[kind]).toBeGreaterThan(10);
  });
});
