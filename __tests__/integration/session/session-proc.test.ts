/** A Landlock session has a /proc of its own, where one may be mounted, and is there without one too. */

import { spawnSync } from "node:child_process";
import { beforeAll, expect, test } from "vitest";

import { runHost } from "../support/host-program.js";
import { buildProbe } from "../support/probe.js";
import { describeUnless, plainEnvironment } from "../support/requirements.js";
import { whyNo } from "../support/runtimes.js";
import { tempDirectory } from "../support/temp.js";

/** As an ordinary user, in pid and mount namespaces of our own. */
const kPlace = ["bwrap", "--unshare-user", "--uid", "1000", "--gid", "1000", "--unshare-pid"];
const kFiles = ["--dev-bind", "/", "/", "--proc", "/proc"];
/** A container that covers a part of its /proc: the kernel lets no other be mounted. */
const kMasked = ["--ro-bind", "/dev/null", "/proc/loadavg"];

function whyNoPlace(): string | undefined {
  const words = [...kPlace.slice(1), ...kFiles, ...kMasked, "true"];
  const { status, error, stderr } = spawnSync("bwrap", words, {
    encoding: "utf8",
    env: plainEnvironment(),
  });
  return status === 0 ? undefined : `bwrap: ${error?.message ?? stderr.trim()}`;
}

describeUnless(whyNo("landlock") ?? whyNoPlace(), "a Landlock session", () => {
  let probe = "";
  beforeAll(() => {
    probe = buildProbe(tempDirectory("tools"));
  });

  test.each([
    ["where nothing of /proc is hidden", [], true],
    ["where parts of /proc are hidden", kMasked, false],
  ])("%s", async (_, hidden, isOwn) => {
    const before = [...kPlace, ...kFiles, ...hidden, "--"];
    const args = ["tell", tempDirectory()];
    const { code, out, err, left } = await runHost(probe, "host-of-sessions.mjs", { args, before });
    expect({ code, err, left }).toEqual({ code: 0, err: "", left: [] });
    const reported = JSON.parse(out);
    expect(reported).toMatchObject({ said: "in", left: 0 });
    expect(reported.layers.includes("pid-namespace")).toBe(isOwn);
  });
});
