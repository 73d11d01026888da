// As root too: what is prewarmed belongs to root.
/** Standing sandboxes: as good as new ones, never stale, and nothing of them is left. */

import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../../support/waits.js";
import { bindsWith } from "../promises/probed-host.js";
import { describePromises } from "../promises/promise-table.js";
import { type HostEnd, killHost, runHost, startHost } from "../support/host-program.js";
import { kKindsOfRuns, prepared, sh } from "../support/kinds-of-runs.js";
import {
  BubblewrapNativeRunner,
  type BubblewrapNativeRunnerOptions,
  type NativeExecInput,
  type NativeRunner,
  type SandboxedExecResult,
} from "../support/package.js";
import { buildProbe } from "../support/probe.js";
import { describeSandboxed } from "../support/requirements.js";
import { type RunnerChoice, run, text } from "../support/results.js";
import { tempDirectory } from "../support/temp.js";

/** Each run in a sandbox that stood before, whatever comes. */
class WarmRunner implements NativeRunner {
  readonly #options: BubblewrapNativeRunnerOptions;

  constructor(options: RunnerChoice) {
    this.#options = { ...options, prewarm: 1 };
  }

  async exec(input: NativeExecInput): Promise<SandboxedExecResult> {
    const runner = new BubblewrapNativeRunner(this.#options);
    expect(await runner.warm()).toBe(1);
    const result = await runner.exec(input);
    expect(runner.pool()).toMatchObject({ taken: 1, missed: 0 });
    await runner.close();
    return result;
  }
}

describePromises(
  "bubblewrap",
  (options) => new WarmRunner(options),
  (_, body) => describeSandboxed("prewarmed", body),
);

/** A result without what is measured. */
function comparable(result: SandboxedExecResult): unknown {
  const { usage, stdout, stderr, audits, ...rest } = result;
  const records = audits.map((audit) => {
    const {
      durationMs,
      usage: used,
      timing,
      start,
      coldReason,
      namespaces,
      prewarmed,
      ...record
    } = audit;
    expect(durationMs).toBeGreaterThan(0);
    expect(used).toEqual(usage);
    const { setupMs, commandMs, teardownMs } = timing;
    expect(setupMs + commandMs + teardownMs).toBeCloseTo(durationMs, 2);
    expect(prewarmed).toBe(start === "prewarmed");
    expect(coldReason === undefined || start === "cold").toBe(true);
    return { ...record, parts: Object.values(timing).map((part) => part > 0) };
  });
  return { ...rest, stdout: text(stdout), stderr: text(stderr), audits: records };
}

const kInputs: [string, NativeExecInput][] = [
  ...kKindsOfRuns,
  ["what is running", sh("cat /proc/[0-9]*/comm; echo $$ $PPID; ulimit -a; umask; id")],
  [
    "what is mounted",
    // A clone's mounts lie over its template's: what is seen is the last one at a place.
    sh(
      "awk '{top[$2] = $3 $4} END {for (at in top) print at, top[at]}' /proc/self/mounts | sort; stat -c '%A %U %G %N' / /* /dev/* *; hostname",
    ),
  ],
];

const kPolicies: [string, Partial<BubblewrapNativeRunnerOptions>][] = [
  ["with the network", { network: "allow" }],
  ["with named binds", { roBinds: bindsWith() }],
  ["with required layers", { required: ["seccomp", "pid-namespace"] }],
  ["with a layer that can't be had", { required: ["no-such-layer"] }],
  ["without /dev", { devBind: false }],
];

describeSandboxed("a prewarmed run", () => {
  async function both(
    input: NativeExecInput,
    policy: Partial<BubblewrapNativeRunnerOptions> = {},
    mayStand = true,
  ): Promise<void> {
    const shadowDir = prepared();
    const cold = new BubblewrapNativeRunner({ shadowDir, ...policy, prewarm: 0, clone: "never" });
    const warm = new BubblewrapNativeRunner({ shadowDir, ...policy, prewarm: 1 });
    if (mayStand) expect(await warm.warm()).toBe(1);
    const expected = comparable(await cold.exec(input));
    rmSync(join(shadowDir, "file"), { force: true });
    const result = await warm.exec(input);
    expect(comparable(result)).toEqual(expected);
    expect(result.audits[0]?.prewarmed).toBe(mayStand);
    expect(warm.pool().taken).toBe(mayStand ? 1 : 0);
    await warm.close();
  }

  test.each(kInputs)("ends as a new one does: %s", async (_name, input) => both(input));

  test.each(kPolicies)("ends as a new one does: %s", async (_name, policy) => {
    const mayStand = policy.required?.includes("no-such-layer") !== true;
    await both(sh("ls / /dev; exit 5"), policy, mayStand);
  });

  test("streams, and can be aborted", async () => {
    const runner = new BubblewrapNativeRunner({ shadowDir: tempDirectory(), prewarm: 1 });
    await runner.warm();
    const controller = new AbortController();
    const chunks: string[] = [];
    const seen = await run(runner, "echo one; echo two >&2; sleep 1000", {
      signal: controller.signal,
      onStdout: (chunk) => {
        chunks.push(text(chunk));
        controller.abort();
      },
    });
    expect(seen).toMatchObject({ kind: "aborted", exitCode: 130, out: "one" });
    expect(chunks).toEqual(["one\n"]);
    expect(runner.pool().taken).toBe(1);
    await runner.close();
  });
});

describeSandboxed("standing sandboxes are not used", () => {
  const make = async (options: BubblewrapNativeRunnerOptions) => {
    const runner = new BubblewrapNativeRunner({ prewarm: 1, ...options });
    expect(await runner.warm()).toBe(1);
    return runner;
  };

  test("for another directory at the workspace's path", async () => {
    const parent = tempDirectory();
    const shadowDir = join(parent, "work");
    mkdirSync(shadowDir);
    writeFileSync(join(shadowDir, "file"), "old");
    const runner = await make({ shadowDir });
    renameSync(shadowDir, join(parent, "old"));
    mkdirSync(shadowDir);
    writeFileSync(join(shadowDir, "file"), "new");
    expect((await run(runner, "cat file")).out).toBe("new");
    expect(runner.pool()).toMatchObject({ taken: 0, discarded: 1 });
    await runner.close();
  });

  test("for another directory at a bind's path", async () => {
    const parent = tempDirectory();
    const tools = join(parent, "tools");
    mkdirSync(tools);
    const runner = await make({ shadowDir: tempDirectory(), roBinds: bindsWith(tools) });
    renameSync(tools, join(parent, "old"));
    mkdirSync(tools);
    writeFileSync(join(tools, "new"), "");
    expect((await run(runner, ["ls", tools])).out).toBe("new");
    expect(runner.pool()).toMatchObject({ taken: 0, discarded: 1 });
    await runner.close();
  });

  test("when the host's umask has changed", async () => {
    const runner = await make({ shadowDir: tempDirectory() });
    const before = process.umask(0o077);
    try {
      expect((await run(runner, "umask")).out).toBe("0077");
      expect(runner.pool()).toMatchObject({ taken: 0, discarded: 1 });
    } finally {
      process.umask(before);
      await runner.close();
    }
  });

  test("but are when nothing that matters has", async () => {
    const shadowDir = tempDirectory();
    const runner = await make({ shadowDir });
    writeFileSync(join(shadowDir, "file"), "made since");
    expect((await run(runner, "cat file")).out).toBe("made since");
    expect(runner.pool()).toMatchObject({ taken: 1, discarded: 0 });
    await runner.close();
  });
});

describeSandboxed("standing sandboxes leave nothing", () => {
  let probe = "";
  beforeAll(() => {
    probe = buildProbe(tempDirectory("tools"));
  });
  const end = (how: string, before: string[] = []): Promise<HostEnd> =>
    runHost(probe, "host-of-standing-sandboxes.mjs", { args: [how, tempDirectory()], before });
  const clean = { code: 0, left: [], err: "" };

  test("when the host exits", async () => {
    expect(await end("exit")).toMatchObject({ ...clean, code: 7, out: "3\n" });
  });

  test("when the host exits while they are being made", async () => {
    expect(await end("set-up")).toMatchObject({ ...clean, code: 7 });
  });

  test("and do not keep a host from ending", async () => {
    expect(await end("idle")).toMatchObject({ ...clean, out: "3\n" });
  });

  test("when the host is killed", async () => {
    const host = startHost(probe, "host-of-standing-sandboxes.mjs", {
      args: ["wait", tempDirectory()],
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
      kinds: Array(6).fill("aborted"),
      late: "ERR_SANDBOX_CLOSED",
      filled: "ERR_SANDBOX_CLOSED",
      standing: 0,
    });
  });

  test.each(["dispose", "collect"])("when the runner is gone by %s", async (how) => {
    expect(await end(how)).toMatchObject({ ...clean, out: "[]\n" });
  });

  test("after a while without a run, and cost nothing until then", async () => {
    const ended = await end("shrink");
    expect(ended).toMatchObject(clean);
    const { standing, used, left } = JSON.parse(ended.out);
    expect(standing).toBe(6);
    expect(used).toEqual(Array(6).fill(0));
    expect(left).toEqual([]);
  });

  // Propagated into a standing sandbox it would be writable there.
  test("of a mount that comes later", async () => {
    const own = process.getuid?.() === 0 ? ["-m"] : ["-rm"];
    const ended = await end("mounted", ["unshare", ...own]);
    expect(ended).toMatchObject(clean);
    expect(JSON.parse(ended.out)).toEqual({ out: "", taken: 0, discarded: 1 });
  });
});

describe("prewarm", () => {
  const shadowDir = "/w";
  test.each([
    [{ prewarm: 65 }, RangeError, "Expected `prewarm` to be an integer from 0 to 64, got 65"],
    [{ prewarm: -1 }, RangeError, "Expected `prewarm` to be an integer from 0 to 64, got -1"],
    [{ prewarm: 1.5 }, RangeError, "Expected `prewarm` to be an integer from 0 to 64, got 1.5"],
    [{ prewarm: "2" }, TypeError, "prewarm"],
    [{ prewarm: 1, isolation: "compat" }, TypeError, "prewarm"],
    [{ prewarm: 1, extraArgs: ["--hostname", "x"] }, TypeError, "prewarm"],
    [{ prewarmIdleMs: 0 }, RangeError, "prewarmIdleMs"],
  ])("%j is refused", (options, type, message) => {
    const make = () =>
      new BubblewrapNativeRunner({ shadowDir, ...options } as BubblewrapNativeRunnerOptions);
    expect(make).toThrow(type);
    expect(make).toThrow(message);
  });

  test("0 is off, also where it could not be on", async () => {
    for (const isolation of ["strict", "compat"] as const) {
      const runner = new BubblewrapNativeRunner({ shadowDir, isolation, prewarm: 0 });
      expect(await runner.warm()).toBe(0);
      await runner.close();
    }
  });
});

describeSandboxed("by default", () => {
  test("a few sandboxes come with the runs", async () => {
    const runner = new BubblewrapNativeRunner({ shadowDir: tempDirectory() });
    for (let i = 0; i < 3; i += 1) await run(runner, "true");
    await eventually("one stands", () => runner.pool().standing === 1);
    await delay(20);
    expect((await run(runner, "exit 4")).exitCode).toBe(4);
    expect(runner.pool().taken).toBe(1);
    await runner.close();
  });
});
