// As root too: cloned sandboxes keep root's ids and capabilities apart.
/** Each kind of run in a clone: live processes, sessions beside it, input and output, deadlines, limits. */

import { afterAll, afterEach, beforeAll, expect, test } from "vitest";

import { eventually, kBegunMs } from "../../support/waits.js";
import { Screen, spawn, whole } from "../support/live-processes.js";
import type { BubblewrapNativeRunner, SandboxedExecResult } from "../support/package.js";
import { kMarker, marked, newMark } from "../support/processes.js";
import { describeSandboxed } from "../support/requirements.js";
import { run } from "../support/results.js";
import { tempDirectory } from "../support/temp.js";
import { cloning, startOf, templates } from "./cloning-runners.js";

const kManyBytes = Buffer.alloc(3 << 20, "0123456789abcdef\n"); // more than any pipe holds

describeSandboxed("in a clone", () => {
  let runner: BubblewrapNativeRunner;
  let mark = newMark();
  beforeAll(async () => {
    runner = await cloning({ shadowDir: tempDirectory() });
  });
  afterAll(() => runner?.close());
  afterEach(() => {
    const last = mark;
    mark = newMark();
    expect(marked(last)).toEqual([]);
    expect(templates()).toHaveLength(1);
  });
  const env = () => ({ [kMarker]: mark });
  const expectCloned = (result: SandboxedExecResult) => expect(startOf(result)).toBe("cloned");

  test("a live process is spoken with", async () => {
    const live = await spawn(runner, "while read line; do echo $line; done; exit 4", {
      env: env(),
    });
    const screen = new Screen(live.stdout);
    for (const word of ["one", "two", "three"]) {
      live.stdin.write(`${word}\n`);
      await screen.until(word);
    }
    live.stdin.end();
    const result = await live.result;
    expect(result).toMatchObject({ exitCode: 4, outcome: { kind: "exited" } });
    expectCloned(result);
  });

  test("a terminal is the first of its own, and has a size and signals", async () => {
    const pty = { cols: 91, rows: 23 };
    const script =
      "trap 'echo hung; exit 5' INT; tty; stty size; ls -1 /dev/pts; while :; do sleep 0.05; done";
    const live = await Promise.all([1, 2, 3].map(() => spawn(runner, script, { pty, env: env() })));
    for (const each of live) {
      const screen = new Screen(each.stdout);
      expect(await screen.until("ptmx")).toMatch(/\/dev\/pts\/0\r\n23 91\r\n0\r\nptmx$/);
      each.stdin.write("\x03");
      await screen.until("hung");
      const result = await each.result;
      expect(result).toMatchObject({ exitCode: 5, outcome: { kind: "exited" } });
      expectCloned(result);
    }
  });

  test("a live process is stopped with all it has started", async () => {
    const live = await spawn(runner, "(setsid sleep 1000 &) & echo up; sleep 1000", {
      env: env(),
    });
    await new Screen(live.stdout).until("up");
    const result = await live.stop();
    expect(result.outcome.kind).not.toBe("exited");
    expectCloned(result);
  });

  test("a live process without input has its output to the end", async () => {
    const live = await spawn(runner, "seq 20000; seq 20000 >&2", { env: env() });
    const { stderr } = live;
    if (stderr === null) throw new Error("there is no stderr");
    live.stdin.end();
    const [out, err, result] = await Promise.all([whole(live.stdout), whole(stderr), live.result]);
    expect(out).toBe(err);
    expect(out.split("\n")).toHaveLength(20001);
    expectCloned(result);
  });

  test("large input and large output are whole", async () => {
    const limits = { maxStdoutBytes: kManyBytes.length };
    const { result } = await run(runner, ["cat"], { stdin: kManyBytes, limits, env: env() });
    expect(Buffer.compare(result.stdout, kManyBytes)).toBe(0);
    expect(result).toMatchObject({ truncatedStdout: false, stdoutBytes: kManyBytes.length });
    expectCloned(result);
    const twice = await run(runner, "cat | tee /dev/stderr", {
      stdin: kManyBytes,
      stderr: "merge",
      limits: { maxStdoutBytes: 2 * kManyBytes.length },
    });
    expect(twice.result.stdoutBytes).toBe(2 * kManyBytes.length);
    expectCloned(twice.result);
  });

  test("a large order, of arguments and variables, is whole", async () => {
    const words = Array.from({ length: 2000 }, (_, i) => `${i}`.repeat(20));
    const seen = await run(runner, ["sh", "-c", 'echo "$#:$LONG" | wc -c', "sh", ...words], {
      env: { LONG: "x".repeat(100_000) },
    });
    expect(seen.out).toBe(String("2000:".length + 100_000 + 1));
    expectCloned(seen.result);
  });

  test("a deadline ends all", async () => {
    const script = "(setsid sleep 1000 &) & echo before; sleep 1000";
    const seen = await run(runner, script, { env: env(), limits: { timeoutMs: kBegunMs } });
    expect(seen).toMatchObject({ kind: "timed-out", exitCode: 124, out: "before" });
    expect(seen.result.audits[0]).toMatchObject({ start: "cloned", kill: "proved" });
  });

  test("an abort ends all", async () => {
    const controller = new AbortController();
    const running = run(runner, "(setsid sleep 1000 &) & echo up; sleep 1000", {
      env: env(),
      signal: controller.signal,
      onStdout: () => controller.abort("enough"),
    });
    const seen = await running;
    expect(seen).toMatchObject({ kind: "aborted", exitCode: 130, out: "up" });
    expect(seen.result.outcome).toHaveProperty("reason", "enough");
    expect(seen.result.audits[0]).toMatchObject({ start: "cloned", kill: "proved" });
  });

  test("what a command leaves is ended with it", async () => {
    const seen = await run(runner, "(setsid sleep 1000 &) & exit 3", { env: env() });
    expect(seen).toMatchObject({ kind: "exited", exitCode: 3 });
    expect(seen.result.audits[0]).toMatchObject({ start: "cloned", kill: "proved" });
  });

  test.each([
    [{ cpuSeconds: 1 }, "while :; do :; done", "limit-exceeded"],
    [{ maxFileBytes: 5000 }, "exec yes > file", "limit-exceeded"],
    [{ maxOpenFiles: 17 }, 'test "$(ulimit -n)" = 17', "exited"],
  ] as const)("limits are each run's own: %j", async (limits, script, kind) => {
    const seen = await run(runner, script, { limits });
    expect(seen.kind).toBe(kind);
    expectCloned(seen.result);
    const after = await run(runner, "ulimit -n; ulimit -t; ulimit -f");
    const before = await run(runner, "ulimit -n; ulimit -t; ulimit -f");
    expect(after.out).toBe(before.out);
    expect(after.out).toContain("unlimited");
  });

  test("usage is the run's own", async () => {
    const busy = await run(runner, "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done");
    const idle = await run(runner, ["true"]);
    expect(busy.result.usage.userCpuMs).toBeGreaterThan(20);
    expect(idle.result.usage.userCpuMs).toBeLessThan(busy.result.usage.userCpuMs);
    expect(idle.result.usage.peakMemoryBytes).toBeGreaterThan(100_000);
    expectCloned(busy.result);
  });

  test("64 at once, each with its own answer", async () => {
    const all = await Promise.all(
      Array.from({ length: 64 }, (_, i) => run(runner, `echo ${i}; exit ${i}`, { env: env() })),
    );
    expect(all.map(({ out, exitCode }) => [out, exitCode])).toEqual(
      all.map((_, i) => [String(i), i]),
    );
    expect(new Set(all.map(({ result }) => startOf(result)))).toEqual(new Set(["cloned"]));
  });

  test("sessions and batches go on beside", async () => {
    await using session = await runner.openSession({ shell: true });
    await run(session, "cd /tmp; X=kept");
    expect((await run(session, "pwd; echo $X")).out).toBe("/tmp\nkept");
    const batch = await runner.execBatch([
      ["sh", "-c", "echo one > /tmp/f"],
      ["cat", "/tmp/f"],
    ]);
    expect(batch[1]?.stdoutText).toBe("one\n");
    const seen = await run(runner, "[ -e /tmp/f ] || echo gone");
    expect(seen.out).toBe("gone");
    expectCloned(seen.result);
    await session.close();
    await eventually("only the template stands", () => templates().length === 1);
  });
});
