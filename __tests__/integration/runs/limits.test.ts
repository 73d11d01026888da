// As root too: limits, ids and set-up differ for root.
/** Resource limits: each stops its own thing, and a run within them is not disturbed. */

import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { kNodeAlone, whyNotHere } from "../other-hosts/this-engine.js";
import { bindsWithNode } from "../promises/probed-host.js";
import { kNodeProgram } from "../support/node-arguments.js";
import {
  BubblewrapNativeRunner,
  LocalNativeRunner,
  type NativeLimits,
} from "../support/package.js";
import { describeSandboxed, isRoot, testUnless } from "../support/requirements.js";
import { run } from "../support/results.js";
import { kRunners } from "../support/runners.js";
import { tempDirectory } from "../support/temp.js";

const kMebibyte = 2 ** 20;
// Needs its memory at once, and reads all of it.
const eats = (mebibytes: number): string =>
  `head -c ${mebibytes * kMebibyte} /dev/zero | tail -c ${mebibytes * kMebibyte} | wc -c`;

for (const [label, makeRunner] of kRunners) {
  describeSandboxed(`limits, ${label}`, () => {
    const runs = (script: string, limits: NativeLimits) =>
      run(makeRunner(tempDirectory()), script, { limits });

    test("memoryBytes", async () => {
      const stopped = await runs(eats(400), { memoryBytes: 200 * kMebibyte });
      expect(
        stopped.out === "" || Number(stopped.out) === 0 || stopped.kind === "limit-exceeded",
      ).toBe(true);
      expect(stopped.result.usage.peakMemoryBytes).toBeLessThan(300 * kMebibyte);
      const within = await runs(eats(400), { memoryBytes: 2000 * kMebibyte });
      expect(within).toMatchObject({ out: String(400 * kMebibyte), exitCode: 0 });
    });

    test("cpuSeconds, also for one that ignores the warning", async () => {
      const seen = await runs("trap '' XCPU; while :; do :; done", { cpuSeconds: 1 });
      expect(seen.exitCode).toBe(128 + constants.signals.SIGKILL);
      expect(seen.result.outcome).toEqual({ kind: "limit-exceeded", limit: "cpuSeconds" });
      expect(await runs("sleep 0.1; echo x", { cpuSeconds: 1 })).toMatchObject({
        out: "x",
        exitCode: 0,
      });
    });

    test("maxFileBytes", async () => {
      const seen = await runs("exec head -c 5000 /dev/zero > file", { maxFileBytes: 4096 });
      expect(seen.exitCode).toBe(128 + constants.signals.SIGXFSZ);
      expect(seen.result.outcome).toEqual({ kind: "limit-exceeded", limit: "maxFileBytes" });
      expect(seen.result.audits[0]?.signal).toBe("SIGXFSZ");
      const within = await runs("head -c 4096 /dev/zero > file; wc -c < file", {
        maxFileBytes: 4096,
      });
      expect(within.out.trim()).toBe("4096");
    });

    test("maxFileBytes is none of the output's", async () => {
      const { result } = await runs("head -c 100000 /dev/zero", { maxFileBytes: 10 });
      expect(result).toMatchObject({ exitCode: 0, stdoutBytes: 100_000 });
    });

    test("maxOpenFiles", async () => {
      const open = 'for n in 3 4 5 6 7 8 9; do eval "exec $n< /dev/null" || exit 9; echo $n; done';
      const seen = await runs(`ulimit -n; ${open}`, { maxOpenFiles: 6 });
      expect(seen.out.split("\n")).toEqual(["6", "3", "4", "5"]);
      expect(seen.exitCode).not.toBe(0);
      expect((await runs(open, { maxOpenFiles: 64 })).out.split("\n")).toHaveLength(7);
    });

    test("those that are set show in the layers, and only then", async () => {
      const layersOf = async (limits: NativeLimits) =>
        (await runs("true", limits)).result.audits[0]?.layers ?? [];
      expect(await layersOf({ maxOpenFiles: 100 })).toContain("rlimits");
      const by = (await layersOf({ memoryBytes: 500 * kMebibyte })).filter((layer) =>
        /rlimits|cgroup$/.test(layer),
      );
      expect(by).toHaveLength(1);
      expect(await layersOf({})).not.toContain("rlimits");
    });

    test("a limit beyond all reach is as good as none", async () => {
      const most = Number.MAX_SAFE_INTEGER;
      const limits = {
        memoryBytes: most,
        cpuSeconds: most,
        maxFileBytes: most,
        maxOpenFiles: most,
      };
      expect(await runs("echo x > file; cat file", limits)).toMatchObject({
        exitCode: 0,
        out: "x",
      });
    });

    test("the host is not limited by them", async () => {
      const runner = makeRunner(tempDirectory());
      await run(runner, ["true"], { limits: { maxOpenFiles: 3, maxFileBytes: 0, cpuSeconds: 1 } });
      const file = join(tempDirectory(), "file");
      writeFileSync(file, "x".repeat(10_000));
      expect(await run(runner, ["echo", "x"])).toMatchObject({ exitCode: 0, out: "x" });
    });
  });
}

describeSandboxed("limits: maxProcesses", () => {
  const script = "i=0; while [ $i -lt 40 ]; do sleep 1000 & i=$((i+1)); echo $i; done";
  const limits = { maxProcesses: 10 };

  test(
    isRoot ? "as root: kept by a cgroup, or refused by name" : "stops the eleventh process",
    async () => {
      const seen = await run(new BubblewrapNativeRunner({ shadowDir: tempDirectory() }), script, {
        limits,
      });
      const layers = seen.result.audits[0]?.layers ?? [];
      if (seen.kind === "setup-failed") {
        expect(isRoot).toBe(true);
        expect(seen.exitCode).toBe(125);
        expect(seen.err).toContain("maxProcesses");
        expect(seen.out).toBe("");
        return;
      }
      expect(layers.includes("rlimits") || layers.includes("cgroup")).toBe(true);
      expect(seen.out.split("\n").length).toBeLessThanOrEqual(10);
      expect(seen.out.split("\n").length).toBeGreaterThanOrEqual(8);
    },
  );

  test("a run within it is not disturbed, and one run's are not another's", async () => {
    const runner = new BubblewrapNativeRunner({ shadowDir: tempDirectory() });
    const own = "for i in 1 2 3 4 5; do sleep 0.5 & done; wait; echo done";
    const runs = await Promise.all(Array.from({ length: 4 }, () => run(runner, own, { limits })));
    for (const seen of runs) {
      if (seen.kind === "setup-failed") expect(isRoot).toBe(true);
      else expect(seen).toMatchObject({ exitCode: 0, out: "done", err: "" });
    }
  });

  test("LocalNativeRunner keeps it by a cgroup, or refuses it by name", async () => {
    const seen = await run(new LocalNativeRunner({ shadowDir: tempDirectory() }), script, {
      limits,
    });
    if (seen.kind === "setup-failed") expect(seen.err).toContain("maxProcesses");
    else expect(seen.result.audits[0]?.layers).toContain("cgroup");
  });
});

describeSandboxed("limits: memoryBytes and Node", () => {
  // Since version 13 V8 maps the range of its code, 512 MiB, as writable, which RLIMIT_DATA counts.
  const codeRangeBytes = Number.parseInt(process.versions.v8, 10) < 13 ? 0 : 512 * 1024 ** 2;

  const name = "Node starts under 300 MB, and what V8 reserves for code";
  testUnless(whyNotHere(kNodeAlone), name, async () => {
    const shadowDir = tempDirectory();
    mkdirSync(join(shadowDir, "x"));
    const runner = new BubblewrapNativeRunner({ shadowDir, roBinds: bindsWithNode() });
    const seen = await run(runner, [kNodeProgram, "-p", "1 + 1"], {
      limits: { memoryBytes: 300_000_000 + codeRangeBytes },
    });
    expect(seen).toMatchObject({ exitCode: 0, out: "2" });
  });
});

describeSandboxed("limits: open files that no call asked for", () => {
  test("are fewer than the host's, which keeps the rest for descriptors on their way", async () => {
    const runner = new BubblewrapNativeRunner({ shadowDir: tempDirectory() });
    const limit = "ulimit -Hn; ulimit -Sn";
    const outside = execFileSync("sh", ["-c", limit], { encoding: "utf8" }).trim().split("\n");
    const inside = (await run(runner, limit)).out.split("\n");
    expect(Number(inside[0])).toBeLessThan(Number(outside[0]));
    expect(Number(inside[1])).toBeLessThanOrEqual(Number(inside[0]));
    const asked = await run(runner, limit, { limits: { maxOpenFiles: Number(outside[0]) } });
    expect(asked.out.split("\n")[0]).toBe(outside[0]);
  });
});
