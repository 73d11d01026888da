/** Promise 9: each run is recorded: what, under which policy and layers, how it ended, what it used. */

import { realpathSync } from "node:fs";
import { expect, test } from "vitest";

import { kBegunMs } from "../../support/waits.js";

import { bindsWith } from "../promises/probed-host.js";
import { BubblewrapNativeRunner, LocalNativeRunner } from "../support/package.js";
import { describeSandboxed } from "../support/requirements.js";
import { run } from "../support/results.js";
import { tempDirectory } from "../support/temp.js";

const kFields = [
  "kind",
  "cmd",
  "argv",
  "durationMs",
  "timedOut",
  "signal",
  "truncatedStdout",
  "truncatedStderr",
  "runtime",
  "layers",
  "policyHash",
  "outcome",
  "usage",
  "timing",
  "start",
  "namespaces",
  "prewarmed",
  "kill",
];

describeSandboxed("9: the record", () => {
  test("of a sandboxed run", async () => {
    const shadowDir = tempDirectory();
    const runner = new BubblewrapNativeRunner({ shadowDir, clone: "never" });
    const { result } = await run(runner, ["sh", "-c", "exit 3", "--", "-x"], {
      env: { SECRET: "hush" },
    });
    expect(result.audits).toHaveLength(1);
    const [audit] = result.audits;
    expect(audit).toMatchObject({
      kind: "native.exec",
      cmd: "bwrap",
      timedOut: false,
      signal: null,
      truncatedStdout: false,
      truncatedStderr: false,
      runtime: "bubblewrap",
      outcome: "exited",
      usage: result.usage,
    });
    expect(Object.keys(audit ?? {}).sort()).toEqual([...kFields].sort());
    const argv = audit?.argv ?? [];
    expect(argv.slice(argv.indexOf("--"))).toEqual(["--", "sh", "-c", "exit 3", "--", "-x"]);
    const bind = argv.indexOf("/workspace", argv.indexOf("--bind"));
    expect(argv.slice(bind - 2, bind + 1)).toEqual([
      "--bind",
      realpathSync(shadowDir),
      "/workspace",
    ]);
    expect(JSON.stringify(audit)).not.toContain("hush");
  });

  test("of a local run", async () => {
    const shadowDir = realpathSync(tempDirectory());
    const { result } = await run(new LocalNativeRunner({ shadowDir }), ["echo", "x"], { cwd: "/" });
    const record = { runtime: "local", cmd: "echo", argv: ["echo", "x"], cwd: shadowDir };
    expect(result.audits[0]).toMatchObject(record);
    expect(result.audits[0]?.layers).toEqual(["tree-kill:subreaper"]);
  });

  test("survives JSON, whatever the outcome", async () => {
    const runner = new BubblewrapNativeRunner({ shadowDir: tempDirectory() });
    const missing = new BubblewrapNativeRunner({ shadowDir: "/no/such/workspace" });
    const runs = await Promise.all([
      run(runner, ["true"]),
      run(runner, "kill -9 $$"),
      run(runner, ["no-such-command"]),
      run(runner, ["/etc"]),
      run(runner, ["sleep", "1000"], { limits: { timeoutMs: 100 } }),
      run(runner, ["sleep", "1000"], { signal: AbortSignal.timeout(100) }),
      run(missing, ["true"]),
    ]);
    for (const { result } of runs) {
      expect(JSON.parse(JSON.stringify(result.audits))).toEqual(result.audits);
      expect(structuredClone(result)).toEqual(result);
      expect(result.audits[0]?.outcome).toBe(result.outcome.kind);
      expect(result.audits[0]?.policyHash).toMatch(/^[0-9a-f]{64}$/);
      // One that was never set up has none of its own.
      const isSetUp = result.outcome.kind !== "setup-failed";
      for (const name of kFields.filter((each) => isSetUp || each !== "namespaces")) {
        expect(result.audits[0]).toHaveProperty(name);
      }
    }
  });

  test("of a run that never started names what it would have run", async () => {
    const shadowDir = "/no/such/workspace";
    const boxed = (await run(new BubblewrapNativeRunner({ shadowDir }), ["ls", "-l"])).result
      .audits[0];
    expect(boxed).toMatchObject({ runtime: "bubblewrap", cmd: "bwrap", outcome: "setup-failed" });
    expect(boxed?.argv.slice(-3)).toEqual(["--", "ls", "-l"]);
    const local = (await run(new LocalNativeRunner({ shadowDir }), ["ls", "-l"])).result.audits[0];
    expect(local).toMatchObject({ runtime: "local", cmd: "ls", argv: ["ls", "-l"] });
  });

  test("usage: time and memory of the whole tree", async () => {
    const runner = new BubblewrapNativeRunner({ shadowDir: tempDirectory() });
    const idle = (await run(runner, ["true"])).result.usage;
    const spin = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
    const busy = (await run(runner, `(${spin}) & (${spin}) & wait`)).result;
    expect(busy.usage.userCpuMs + busy.usage.systemCpuMs).toBeGreaterThan(
      idle.userCpuMs + idle.systemCpuMs + 50,
    );
    expect(busy.audits[0]?.durationMs).toBeGreaterThan(0);
    const big = "head -c 100000000 /dev/zero | tail -c 90000000 | wc -c";
    const { usage } = (await run(runner, big)).result;
    expect(usage.peakMemoryBytes).toBeGreaterThan(80e6);
    expect(usage.peakMemoryBytes).toBeLessThan(400e6);
    expect(idle.peakMemoryBytes).toBeLessThan(50e6);
    expect(idle.peakMemoryBytes).toBeGreaterThan(100e3);
  });

  test("usage is there after a deadline too", async () => {
    const runner = new BubblewrapNativeRunner({ shadowDir: tempDirectory() });
    const limits = { timeoutMs: kBegunMs };
    const { usage } = (await run(runner, "while :; do :; done", { limits })).result;
    expect(usage.userCpuMs + usage.systemCpuMs).toBeGreaterThan(50);
  });
});

describeSandboxed("9: the policy's hash", () => {
  const hashOf = async (runner: BubblewrapNativeRunner | LocalNativeRunner) =>
    (await run(runner, ["true"])).result.audits[0]?.policyHash;
  const shadowDir = tempDirectory();
  const base = { shadowDir };

  test("is the same for the same policy", async () => {
    const first = await hashOf(new BubblewrapNativeRunner(base));
    const second = await hashOf(new BubblewrapNativeRunner({ shadowDir: tempDirectory() }));
    const spelled = {
      ...base,
      bwrapPath: "bwrap",
      network: "deny",
      isolation: "strict",
      envPolicy: "scrub",
    } as const;
    expect([second, await hashOf(new BubblewrapNativeRunner(spelled))]).toEqual([first, first]);
    expect((await new BubblewrapNativeRunner(base).explain({ argv: ["true"] })).policyHash).toBe(
      first,
    );
  });

  test("differs where the policy does", async () => {
    const hashes = await Promise.all([
      hashOf(new BubblewrapNativeRunner(base)),
      hashOf(new BubblewrapNativeRunner({ ...base, network: "allow" })),
      hashOf(new BubblewrapNativeRunner({ ...base, isolation: "compat" })),
      hashOf(new BubblewrapNativeRunner({ ...base, roBinds: bindsWith(shadowDir) })),
      hashOf(new BubblewrapNativeRunner({ ...base, envPolicy: "clean" })),
      hashOf(new BubblewrapNativeRunner({ ...base, envPolicy: ["A"] })),
      hashOf(new BubblewrapNativeRunner({ ...base, envPolicy: ["A", "B"] })),
      hashOf(new LocalNativeRunner(base)),
      hashOf(new LocalNativeRunner({ ...base, envPolicy: "inherit" })),
    ]);
    expect(new Set(hashes).size).toBe(hashes.length);
  });
});
