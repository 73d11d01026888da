// As root too: a session's commands are kept apart otherwise.
/** A command of a session is as good as a run of its own. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

import { eventually } from "../../support/waits.js";
import { kKindsOfRuns, prepared, sh } from "../support/kinds-of-runs.js";
import type {
  NativeExecInput,
  NativeSession,
  SandboxedExecResult,
  SessionOptions,
} from "../support/package.js";
import { BubblewrapNativeRunner, LandlockNativeRunner } from "../support/package.js";
import { kMarker, marked, newMark } from "../support/processes.js";
import { isRoot, testUnless, whyNoOption } from "../support/requirements.js";
import { bytes, run, text, withoutHomeId } from "../support/results.js";
import { describeSessions, type SessionMaker } from "../support/sessions.js";
import { tempDirectory } from "../support/temp.js";

const kMebibyte = 2 ** 20;

/** A result without what is measured, and without what is a session's own. */
function comparable(result: SandboxedExecResult): unknown {
  const { usage, stdout, stderr, audits, ...rest } = result;
  const records = audits.map(
    ({
      durationMs,
      usage: used,
      layers,
      argv,
      cwd,
      timing,
      start,
      coldReason,
      namespaces,
      ...record
    }) => {
      expect(durationMs).toBeGreaterThan(0);
      expect(used).toEqual(usage);
      return { ...record, hasArgv: argv.length > 0 };
    },
  );
  return { ...rest, stdout: withoutHomeId(text(stdout)), stderr: text(stderr), audits: records };
}

const kInputs: [string, NativeExecInput][] = [
  ...kKindsOfRuns,
  ["limits of its own", sh("ulimit -a; umask; id")],
  ["what is mounted", sh("stat -c '%A %U %G %N' * /dev/null; hostname")],
];

describeSessions("a command of a session", (maker) => {
  test("ends as a run of its own does", async () => {
    const shadowDir = prepared();
    const runner = maker.runner(shadowDir);
    await using session = await runner.openSession();
    for (const [name, input] of kInputs) {
      const cold = comparable(await runner.exec(input));
      expect(comparable(await session.exec(input)), name).toEqual(cold);
    }
  });

  test("has a record of its own", async () => {
    await using session = await maker.open();
    const first = await run(session, "exit 3");
    const second = await run(session, ["no-such"], { cwd: "." });
    expect(first.result.audits).toMatchObject([{ outcome: "exited", timedOut: false }]);
    expect(second.result.audits).toMatchObject([{ outcome: "not-found" }]);
    expect(first.result.audits[0]?.argv.slice(-3)).toEqual(["sh", "-c", "exit 3"]);
    expect(first.result.audits[0]?.layers).toEqual(
      expect.arrayContaining([...session.layers, "tree-kill:subreaper", "session"]),
    );
  });

  test("has input, output and usage of its own, with eight at once", async () => {
    await using session = await maker.open();
    const block = new Uint8Array(16 * kMebibyte).fill(97);
    const big = run(session, "cat | wc -c; ls /proc/self/fd | wc -l", { stdin: block });
    const small = Array.from({ length: 12 }, (_, i) =>
      run(session, `read a; echo "$a $V"; echo e${i} >&2; exit ${i}`, {
        stdin: bytes(`in${i}\n`),
        env: { V: `v${i}` },
      }),
    );
    for (const [i, seen] of (await Promise.all(small)).entries()) {
      expect(seen).toMatchObject({ out: `in${i} v${i}`, err: `e${i}`, exitCode: i });
    }
    expect((await big).out.split("\n").map((line) => line.trim())).toEqual([
      String(block.length),
      "4",
    ]);
    const busy = await run(session, "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done");
    const idle = await run(session, ["true"]);
    expect(busy.result.usage.userCpuMs).toBeGreaterThan(idle.result.usage.userCpuMs);
    const eats = "head -c 60000000 /dev/zero | tail -c 60000000 | wc -c";
    expect((await run(session, eats)).result.usage.peakMemoryBytes).toBeGreaterThan(5e7);
    expect((await run(session, ["true"])).result.usage.peakMemoryBytes).toBeLessThan(3e7);
  });

  test("has limits of its own, beside one that has none", async () => {
    const shadowDir = tempDirectory();
    await using session = await maker.open({}, shadowDir);
    const running = run(
      session,
      "echo up > up; while [ ! -e stop ]; do sleep 0.01; done; ulimit -n",
    );
    await eventually("it is up", () => existsSync(join(shadowDir, "up")));
    const eats = "head -c 400000000 /dev/zero | tail -c 400000000 | wc -c";
    const starved = await run(session, eats, { limits: { memoryBytes: 100 * kMebibyte } });
    expect(Number(starved.out)).toBe(0);
    expect(starved.result.audits[0]?.layers).toContain("rlimits");
    expect(await run(session, "ulimit -n", { limits: { maxOpenFiles: 20 } })).toMatchObject({
      out: "20",
    });
    const other = await run(session, "ulimit -n; touch stop");
    expect(other.exitCode).toBe(0);
    expect(await running).toMatchObject({ exitCode: 0, out: other.out });
  });

  test("can be limited in processes, or says why not", async () => {
    await using session = await maker.open();
    const forks = "i=0; while [ $i -lt 40 ]; do sleep 1000 & i=$((i+1)); echo $i; done";
    const seen = await run(session, forks, { limits: { maxProcesses: 10 } });
    if (isRoot || maker.name === "landlock") {
      expect(seen).toMatchObject({ kind: "setup-failed", out: "" });
      expect(seen.err).toContain("maxProcesses");
    } else {
      const made = seen.out.split("\n").length;
      expect(made).toBeGreaterThan(4);
      expect(made).toBeLessThan(12);
    }
    expect((await run(session, forks)).out.split("\n")).toHaveLength(40);
  });

  test("is ended alone, however that comes", async () => {
    await using session = await maker.open();
    const mark = newMark();
    const other = newMark();
    const running = run(session, "echo up; while [ ! -e stop ]; do sleep 0.01; done; echo well", {
      env: { [kMarker]: other },
    });
    const late = await run(session, "setsid sleep 1000 & sleep 1000", {
      env: { [kMarker]: mark },
      limits: { timeoutMs: 300 },
    });
    expect(late).toMatchObject({ kind: "timed-out", exitCode: 124 });
    const controller = new AbortController();
    const aborted = run(session, "(trap '' TERM; setsid sleep 1000 &) & sleep 1000", {
      env: { [kMarker]: mark },
      signal: controller.signal,
    });
    await eventually("it runs", () => marked(mark).length >= 2);
    controller.abort();
    expect(await aborted).toMatchObject({ kind: "aborted", exitCode: 130 });
    expect(marked(mark)).toEqual([]);
    const hiding = `sleep 1000 & (sleep 1000 &) & setsid sleep 1000 < /dev/null > /dev/null 2>&1 &
      sh -c 'kill -STOP $$' & sh -c 'trap "" TERM HUP INT; sleep 1000' & exit 9`;
    for (let i = 0; i < 5; i += 1) {
      const seen = await run(session, hiding, { env: { [kMarker]: mark } });
      expect(marked(mark)).toEqual([]);
      expect(seen.exitCode).toBe(9);
    }
    expect(marked(other)).not.toEqual([]);
    expect(session.isOpen).toBe(true);
    await run(session, ["touch", "stop"]);
    expect(await running).toMatchObject({ kind: "exited", out: "up\nwell" });
  });

  test("may be one of a hundred that come at once", async () => {
    const shadowDir = tempDirectory();
    const options = { shadowDir, maxConcurrent: 200 };
    const runner =
      maker.name === "bubblewrap"
        ? new BubblewrapNativeRunner({ ...options, prewarm: 0 })
        : new LandlockNativeRunner(options);
    await using session = await runner.openSession();
    const runs = Array.from({ length: 200 }, (_, i) => run(session, `echo ${i}; exit ${i % 50}`));
    for (const [i, seen] of (await Promise.all(runs)).entries()) {
      expect(seen).toMatchObject({ kind: "exited", out: String(i), exitCode: i % 50 });
    }
  });

  test("streams, and what its callback throws ends it alone", async () => {
    await using session = await maker.open();
    const failing = run(session, "echo x; sleep 1000", {
      onStdout: () => {
        throw new Error("the caller's own");
      },
    });
    await expect(failing).rejects.toThrow("the caller's own");
    expect((await run(session, "echo y")).out).toBe("y");
  });
});

describeSessions("what the commands of a session share", (maker) => {
  test("is said", async () => {
    await using session = await maker.open();
    const always = ["workspace", "tmp", "network", "ipc", "process-list", "terminals", "limits"];
    const separated = session.layers.includes("command-separation");
    expect(session.shares).toEqual(separated ? always : [...always, "signals"]);
    expect(Object.isFrozen(session.shares) && Object.isFrozen(session.layers)).toBe(true);
  });

  test("workspace, /tmp, the list of processes", async () => {
    const shadowDir = tempDirectory();
    const name = `/tmp/native-runner-${newMark()}`;
    const session = await maker.open({}, shadowDir);
    expect((await run(session, `echo a > file; echo b > ${name}`)).err).toBe("");
    expect((await run(session, `cat file ${name}`)).out).toBe("a\nb");
    const running = run(session, "echo up > up; exec sleep 4321.5");
    await eventually("it is up", () => existsSync(join(shadowDir, "up")));
    expect((await run(session, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")).out).toContain(
      "sleep 43",
    );
    if (maker.name === "landlock") await run(session, ["rm", name]);
    await session.close();
    expect((await running).kind).toBe("aborted");
    if (maker.name === "bubblewrap") {
      expect(existsSync(name)).toBe(false);
      await using next = await maker.open({}, shadowDir);
      expect((await run(next, `[ -e ${name} ] || echo gone`)).out).toBe("gone");
      expect((await run(next, ["ls"])).out).toBe("file\nup");
    }
  });

  const whyNoBound = maker.name === "landlock" ? "it sees the host's /tmp" : whyNoOption("--size");
  testUnless(whyNoBound, "its /tmp may have a bound", async () => {
    await using session = await maker.open({ tmpBytes: kMebibyte });
    const fill = (size: number) =>
      run(session, `head -c ${size} /dev/zero > /tmp/file; wc -c < /tmp/file`);
    expect((await fill(2 * kMebibyte)).err).toContain("No space left");
    expect(await fill(kMebibyte / 2)).toMatchObject({ out: String(kMebibyte / 2), err: "" });
  });
});

describe("a session is refused", () => {
  const fails = (opening: Promise<NativeSession>) =>
    opening.then(
      () => expect.fail("it was opened"),
      (error: Error & { code: string; fix?: string }) => error,
    );
  const open = (maker: SessionMaker, options: object) => maker.open(options as SessionOptions);

  describeSessions("for a wrong option", (maker) => {
    test.each([
      [{ idleTimeoutMs: 0 }, "ERR_OUT_OF_RANGE", "idleTimeoutMs"],
      [{ idleTimeoutMs: "1" }, "ERR_INVALID_ARG_TYPE", "idleTimeoutMs"],
      [{ idleTimeoutMs: Number.NaN }, "ERR_OUT_OF_RANGE", "idleTimeoutMs"],
      [{ maxCommands: 0 }, "ERR_OUT_OF_RANGE", "maxCommands"],
      [{ maxCommands: 1.5 }, "ERR_OUT_OF_RANGE", "maxCommands"],
      [{ maxCommands: "1" }, "ERR_INVALID_ARG_TYPE", "maxCommands"],
      [{ tmpBytes: 0 }, "ERR_OUT_OF_RANGE", "tmpBytes"],
      [{ tmpBytes: [] }, "ERR_INVALID_ARG_TYPE", "tmpBytes"],
      [{ shell: "bash" }, "ERR_INVALID_ARG_TYPE", "shell"],
    ])("%j", async (options, code, field) => {
      const error = await fails(open(maker, options));
      expect(error).toMatchObject({ code });
      expect(error.message).toContain(`\`${field}\``);
    });

    test("that is no object", async () => {
      expect(await fails(open(maker, null as never))).toBeInstanceOf(TypeError);
      expect(await fails(open(maker, "x" as never))).toBeInstanceOf(TypeError);
    });

    test("for a workspace that is not there, and is none that ends later", async () => {
      const error = await fails(maker.open({}, join(tempDirectory(), "missing")));
      expect(error).toMatchObject({ name: "SandboxError", code: "ERR_SANDBOX_SETUP" });
      expect(error.message).toContain("missing");
    });

    test("when its runner was closed", async () => {
      const runner = maker.runner(tempDirectory());
      await runner.close();
      expect(await fails(runner.openSession())).toMatchObject({ code: "ERR_SANDBOX_CLOSED" });
    });
  });

  // A bwrap without --perms is refused for that, before.
  const [code, named] = whyNoOption("--perms")
    ? ["ERR_SANDBOX_UNAVAILABLE", "--perms"]
    : ["ERR_SANDBOX_SETUP", "/proc"];
  test.each([
    ["without bwrap", { bwrapPath: "/no/bwrap" }, "ERR_SANDBOX_UNAVAILABLE", "/no/bwrap"],
    ["without a bind", { roBinds: ["/no/bind"] }, "ERR_SANDBOX_SETUP", "/no/bind"],
    ["without /proc", { procBind: false }, code, named],
    ["for a layer", { required: ["no-such-layer"] }, "ERR_SANDBOX_SETUP", "no-such-layer"],
  ])("%s", async (_, options, code, named) => {
    const runner = new BubblewrapNativeRunner({ shadowDir: tempDirectory(), ...options });
    const error = await fails(runner.openSession());
    expect(error.message).toContain(named);
    expect(error).toMatchObject({ name: "SandboxError", code });
  });

  test("with isolation compat", async () => {
    const runner = new BubblewrapNativeRunner({ shadowDir: tempDirectory(), isolation: "compat" });
    const error = await fails(runner.openSession());
    expect(error).toBeInstanceOf(TypeError);
    expect(error.message).toContain("`isolation`");
  });

  describeSessions("without command-separation, if that is required", (maker) => {
    test("and is opened with it", async () => {
      const options = { shadowDir: tempDirectory(), required: ["command-separation"] };
      const runner =
        maker.name === "bubblewrap"
          ? new BubblewrapNativeRunner(options)
          : new LandlockNativeRunner(options);
      const opened = await runner.openSession().catch((error: Error) => error);
      if (opened instanceof Error) {
        expect(opened).toMatchObject({ code: "ERR_SANDBOX_SETUP" });
        expect(opened.message).toContain("command-separation: required");
      } else {
        expect(opened.layers).toContain("command-separation");
        await opened.close();
      }
    });
  });
});
