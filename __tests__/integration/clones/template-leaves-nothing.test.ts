// As root too: cloned sandboxes keep root's ids and capabilities apart.
/** A template leaves nothing, however its host or its runner ends, and costs nothing while it stands. */

import { beforeAll, expect, test } from "vitest";

import { eventually } from "../../support/waits.js";
import { type HostEnd, killHost, runHost, startHost } from "../support/host-program.js";
import { kPlace } from "../support/mounts.js";
import { buildProbe } from "../support/probe.js";
import { describeSandboxed, isRoot } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";

describeSandboxed("a template leaves nothing", () => {
  let probe = "";
  beforeAll(() => {
    probe = buildProbe(tempDirectory("tools"));
  });
  const end = (how: string, before: string[] = []): Promise<HostEnd> =>
    runHost(probe, "clones/template-host-ends.mjs", {
      args: [how, tempDirectory("work", kPlace)],
      before,
    });
  const clean = { code: 0, left: [], err: "" };

  test("when the host exits", async () => {
    expect(await end("exit")).toMatchObject({ ...clean, code: 7, out: "true\n" });
  });

  test("and does not keep a host from ending", async () => {
    expect(await end("idle")).toMatchObject({ ...clean, out: "true\n" });
  });

  test.each(["wait", "running"])("when the host is killed: %s", async (how) => {
    const host = startHost(probe, "clones/template-host-ends.mjs", {
      args: [how, tempDirectory()],
    });
    await eventually("the host is ready", () => host.said().includes("ready"));
    killHost(host);
    expect(await host.ended).toMatchObject({ code: 128 + 9, left: [] });
  });

  test("when the runner is closed, which ends its runs", async () => {
    const ended = await end("close");
    expect(ended).toMatchObject(clean);
    expect(JSON.parse(ended.out)).toEqual({
      left: [],
      ends: Array(6).fill(["aborted", "cloned"]),
      late: "ERR_SANDBOX_CLOSED",
    });
  });

  test.each(["dispose", "collect"])("when the runner is gone by %s", async (how) => {
    expect(await end(how)).toMatchObject({ ...clean, out: "[]\n" });
  });

  test("after a while without a run; costs nothing until then, and comes again", async () => {
    const ended = await end("shrink");
    expect(ended).toMatchObject(clean);
    const { standing, used, left, next, closed } = JSON.parse(ended.out);
    expect(standing).toBeGreaterThan(0);
    expect(used).toEqual(Array(standing).fill(0));
    expect({ left, closed }).toEqual({ left: [], closed: [] });
    expect(next).toMatchObject({ start: "cold", coldReason: expect.any(String) });
  });

  // Propagated into a template it would be writable in each of its clones.
  test("of a mount that comes later: it is seen as in a new sandbox, read-only", async () => {
    const ended = await end("mounted", ["unshare", ...(isRoot ? ["-m"] : ["-rm"])]);
    expect(ended).toMatchObject(clean);
    const { before, after, again } = JSON.parse(ended.out);
    expect(before).toEqual({ out: "", start: "cloned" });
    expect(after).toEqual({ out: "new", start: "cold", coldReason: expect.any(String) });
    expect(again).toEqual({ out: "new", start: "cloned" });
  });
});
