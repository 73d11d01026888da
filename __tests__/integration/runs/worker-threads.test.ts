/** Promise 8: worker threads do not disturb each other, and leave nothing when they end in mid-run. */

import { beforeAll, expect, test } from "vitest";

import { kEarly, whyNotHere } from "../other-hosts/this-engine.js";
import { runHost } from "../support/host-program.js";
import { buildProbe } from "../support/probe.js";
import { describeSandboxed, testUnless } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";

let probe = "";
beforeAll(() => {
  probe = buildProbe(tempDirectory("tools"));
});

const kWhyNot: Record<string, string | undefined> = {
  terminate: whyNotHere(kEarly),
  busy: whyNotHere(kEarly),
  exit: undefined,
  handles: whyNotHere({ Deno: "parentPort has no close()" }),
};

describeSandboxed("8: worker threads", () => {
  test("several and the main thread run at once", async () => {
    const ended = await runHost(probe, "workers.mjs", { args: ["together", tempDirectory()] });
    expect(ended).toMatchObject({ code: 0, left: [], err: "" });
    expect(JSON.parse(ended.out)).toEqual({ good: Array(5).fill(true), left: [] });
  });

  for (const [how, whyNot] of Object.entries(kWhyNot)) {
    testUnless(whyNot, `ended in mid-run by ${how}`, async () => {
      const ended = await runHost(probe, "workers.mjs", { args: [how, tempDirectory()] });
      expect(ended).toMatchObject({ code: 0, left: [], err: "" });
      expect(JSON.parse(ended.out)).toEqual({ left: [], goesOn: true });
    });
  }
});
