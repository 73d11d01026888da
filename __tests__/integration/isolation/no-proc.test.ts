// As root too: root has more to keep from a command.
/** `procBind: false`: a strict sandbox without /proc, in which everything else holds. */

import { expect, test } from "vitest";

import { makeScene, type Scene } from "../promises/probed-host.js";
import { describeSurvival } from "../promises/survival.js";
import { BubblewrapNativeRunner } from "../support/package.js";
import { describeUnless, whyNoOption } from "../support/requirements.js";
import { run } from "../support/results.js";
import { tempDirectory } from "../support/temp.js";

const kShowsProc = "test -e /proc/self && echo shown || echo hidden";

describeUnless(whyNoOption("--perms"), "procBind: false", () => {
  const make = (options: { layers?: "landlock"[]; devBind?: boolean; extraArgs?: string[] } = {}) =>
    new BubblewrapNativeRunner({ shadowDir: tempDirectory(), procBind: false, ...options });

  test("shows no /proc, and the audit says so", async () => {
    const without = await run(make(), kShowsProc);
    expect(without).toMatchObject({ out: "hidden", kind: "exited", exitCode: 0 });
    expect(without.result.audits[0]?.layers).toContain("no-proc");
    expect(without.result.audits[0]?.argv).not.toContain("--proc");
    const usual = await run(new BubblewrapNativeRunner({ shadowDir: tempDirectory() }), kShowsProc);
    expect(usual.out).toBe("shown");
    expect(usual.result.audits[0]?.layers).not.toContain("no-proc");
  });

  test("has all other layers, and the command's outcome and usage", async () => {
    const runner = make();
    const strict = new BubblewrapNativeRunner({ shadowDir: runner.shadowDir });
    const expected = (await run(strict, ["true"])).result.audits[0]?.layers ?? [];
    const seen = await run(runner, "echo x > file && cat file; exit 3");
    expect(seen).toMatchObject({ out: "x", exitCode: 3 });
    const { layers = [] } = seen.result.audits[0] ?? {};
    expect(layers.filter((layer) => layer !== "no-proc")).toEqual(expected);
    expect(seen.result.usage.peakMemoryBytes).toBeGreaterThan(0);
    expect((await run(runner, ["not-there"])).kind).toBe("not-found");
  });

  test("serves many runs at once, each with a launcher that can't be changed", async () => {
    const runner = make();
    const script = "echo x > /.native-runner-launcher; rm -f /.native-runner-launcher; echo done";
    const all = await Promise.all(Array.from({ length: 8 }, () => run(runner, script)));
    for (const seen of all) {
      expect(seen).toMatchObject({ out: "done", kind: "exited" });
      expect(seen.err.match(/Read-only file system/g)).toHaveLength(2);
    }
  });

  test("goes with Landlock inside and without /dev", async () => {
    for (const devBind of [true, false]) {
      const seen = await run(make({ layers: ["landlock"], devBind }), [
        "sh",
        "-c",
        "echo x > file && cat file",
      ]);
      expect(seen).toMatchObject({ out: "x", exitCode: 0 });
      expect(seen.result.audits[0]?.layers).toContain("landlock-fs");
    }
  });

  test("is undone by an option that mounts one, and the audit says so", async () => {
    const seen = await run(make({ extraArgs: ["--proc", "/proc"] }), kShowsProc);
    expect(seen.out).toBe("shown");
    expect(seen.result.audits[0]?.layers).not.toContain("no-proc");
    expect(seen.result.audits[0]?.layers).toContain("opened:--proc /proc");
  });

  test("is refused early where the host's would show, or is needed", () => {
    const shadowDir = tempDirectory();
    const refused = { code: "ERR_INVALID_ARG_VALUE", message: expect.stringMatching(/`procBind`/) };
    for (const options of [{ roBinds: ["/usr", "/"] }, { isolation: "compat" as const }]) {
      const make = () => new BubblewrapNativeRunner({ shadowDir, procBind: false, ...options });
      expect(make).toThrow(expect.objectContaining(refused));
      expect(() => new BubblewrapNativeRunner({ shadowDir, ...options })).not.toThrow();
    }
  });

  let scene: Scene | undefined;
  const made = (): Scene => {
    scene ??= makeScene("/workspace");
    return scene;
  };
  describeSurvival(
    made,
    ({ shadowDir }) => new BubblewrapNativeRunner({ shadowDir, procBind: false }),
  );
});
