// As root too: how root's trees end.
/** Promise 5 for live processes: whatever becomes of the host, nothing of them is left. */

import { randomInt } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { beforeAll, expect, test } from "vitest";

import { eventually } from "../../support/waits.js";
import { kEarly, whyNotHere } from "../other-hosts/this-engine.js";
import { type HostEnd, killHost, runHost, startHost } from "../support/host-program.js";
import { buildProbe } from "../support/probe.js";
import { describeSandboxed, testUnless } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";

const kKills = 6;
const kSlowMs = 120_000;

let probe = "";
beforeAll(() => {
  probe = buildProbe(tempDirectory("tools"));
});

describeSandboxed("5: live processes leave nothing", () => {
  const end = (how: string): Promise<HostEnd> =>
    runHost(probe, "host-of-live-processes.mjs", { args: [how, tempDirectory()] });

  test("when the host is killed, at any moment", { timeout: kSlowMs }, async () => {
    for (let round = 0; round < kKills; round += 1) {
      const host = startHost(probe, "host-of-live-processes.mjs", {
        args: ["wait", tempDirectory()],
      });
      const isEarly = round % 2 === 0;
      if (isEarly) await delay(randomInt(100, 600));
      else await eventually("the host is ready", () => host.said().includes("ready"));
      killHost(host);
      expect(await host.ended).toMatchObject({ code: 128 + 9, left: [] });
    }
  });

  test.each(["exit", "unread"])("when the host exits (%s)", async (how) => {
    expect(await end(how)).toMatchObject({ code: 7, left: [], err: "" });
  });

  testUnless(
    whyNotHere(kEarly),
    "when their worker is terminated",
    async () => {
      expect(await end("workers")).toMatchObject({ code: 0, left: [], err: "", out: "[]\n" });
    },
    kSlowMs,
  );

  test("and when nobody refers to them any more, a host ends with the last of them", async () => {
    expect(await end("collect")).toMatchObject({ code: 0, left: [], err: "", out: "[]\n" });
  });
});
