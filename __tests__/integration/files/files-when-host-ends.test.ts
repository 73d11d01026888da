/** What is left of `runner.files` when a host, or one of its workers, ends in the middle of a call. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { beforeAll, expect, test } from "vitest";

import { eventually } from "../../support/waits.js";
import { kEarly, whyNotHere } from "../other-hosts/this-engine.js";
import { killHost, runHost, startHost } from "../support/host-program.js";
import { buildProbe } from "../support/probe.js";
import { testUnless } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";

let probe = "";
beforeAll(() => {
  probe = buildProbe(tempDirectory("tools"));
});

const kContents = ["a".repeat(200_000), "b".repeat(300_000)];

test("a host that is killed leaves the one content or the other", async () => {
  for (let round = 0; round < 6; round += 1) {
    const workspace = tempDirectory("files");
    const host = startHost(probe, "files.mjs", { args: ["write", workspace] });
    await eventually("it writes", () => host.said().includes("writing"));
    await delay(7 * round);
    killHost(host);
    await host.ended;
    expect(kContents).toContain(readFileSync(join(workspace, "file"), "utf8"));
    const others = readdirSync(workspace).filter((name) => name !== "file");
    expect(others.length).toBeLessThanOrEqual(1); // between its last two system calls
    expect(others.filter((name) => !/^\.native-runner-[0-9a-f]{16}$/.test(name))).toEqual([]);
  }
});

testUnless(
  whyNotHere(kEarly),
  "workers that are terminated in the middle of calls leave nothing",
  async () => {
    const workspace = tempDirectory("files");
    const ended = await runHost(probe, "files.mjs", { args: ["terminate", workspace] });
    expect(ended).toMatchObject({ code: 0, left: [], err: "" });
    expect(JSON.parse(ended.out)).toEqual({ text: "still here", left: 0 });
  },
);
