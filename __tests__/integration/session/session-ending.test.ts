// As root too: a session's commands are kept apart otherwise.
/** However a session ends, every call has one outcome, it says why, and nothing is left. */

import { spawnSync } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";

import { Session } from "../../../lib/runners/session.js";
import { eventually } from "../../support/waits.js";
import { kEarly, whyNotHere } from "../other-hosts/this-engine.js";
import { killHost, runHost, startHost } from "../support/host-program.js";
import { BubblewrapNativeRunner, type NativeSession } from "../support/package.js";
import { buildProbe } from "../support/probe.js";
import { childrenOf, isAlive, kMarker, marked, newMark } from "../support/processes.js";
import { describeSandboxed, isRoot, testUnless } from "../support/requirements.js";
import { run } from "../support/results.js";
import { whyNo } from "../support/runtimes.js";
import { describeSessions, kSessionMakers } from "../support/sessions.js";
import { tempDirectory } from "../support/temp.js";

const closed = (why: string | RegExp) => ({
  name: "SandboxError",
  code: "ERR_SANDBOX_CLOSED",
  message: expect.stringMatching(new RegExp(`^the session has ended: .*${String(why)}`)),
});
const refusal = (session: NativeSession) =>
  run(session, ["true"]).then(
    () => expect.fail("it ran"),
    (error: unknown) => error,
  );

/** Runs what leaves a process behind, and resolves once it is there. */
async function begin(session: NativeSession, limits = {}) {
  const mark = newMark();
  const running = run(session, "(setsid sleep 1000 &) & sleep 1000", {
    env: { [kMarker]: mark },
    limits,
  });
  await eventually("it runs", () => marked(mark).length >= 3);
  return { mark, running };
}

describeSessions("a session", (maker) => {
  test("ends when it was idle, not while it is used", async () => {
    const session = await maker.open({ idleTimeoutMs: 300 });
    expect((await run(session, "sleep 0.6; echo x")).out).toBe("x");
    expect(session.isOpen).toBe(true);
    expect(await session.ended).toContain("idle for 300 ms (idleTimeoutMs)");
    expect(session.isOpen).toBe(false);
    expect(await refusal(session)).toMatchObject(closed("idleTimeoutMs"));
  });

  test("runs as many commands as it may, at once too", async () => {
    const session = await maker.open({ maxCommands: 3 });
    const runs = await Promise.allSettled(
      Array.from({ length: 5 }, (_, i) => run(session, `sleep 0.2; exit ${i}`)),
    );
    const codes = runs.map((each) => (each.status === "fulfilled" ? each.value.exitCode : "none"));
    expect(codes).toEqual([0, 1, 2, "none", "none"]);
    for (const each of runs.slice(3)) {
      expect((each as PromiseRejectedResult).reason).toMatchObject(closed("maxCommands"));
    }
    expect(await session.ended).toContain("its 3 commands (maxCommands)");
    expect(await refusal(session)).toMatchObject(closed("maxCommands"));
  });

  test("counts neither what is only checked nor what is misuse", async () => {
    const session = await maker.open({ maxCommands: 1 });
    await expect(session.exec({ argv: [] })).rejects.toThrow("argv[0] is required");
    expect((await run(session, "exit 2")).exitCode).toBe(2);
    await session.ended;
  });

  test("is closed in mid-run, by itself or by its runner", async () => {
    const runner = maker.runner(tempDirectory());
    const one = await runner.openSession();
    const other = await runner.openSession();
    const before = childrenOf(maker.host()).length;
    expect(before).toBeGreaterThanOrEqual(2);
    const [first, second] = await Promise.all([begin(one), begin(other)]);
    await Promise.all([one.close(), one.close()]);
    expect(marked(first.mark)).toEqual([]);
    expect(marked(second.mark)).not.toEqual([]);
    expect((await first.running).kind).toBe("aborted");
    expect(await one.ended).toBe("it was closed");
    expect(await refusal(one)).toMatchObject(closed("it was closed"));
    const opening = runner.openSession().then(
      () => "open",
      ({ code }) => code,
    );
    await runner.close();
    expect(await opening).toBe("ERR_SANDBOX_CLOSED");
    expect(marked(second.mark)).toEqual([]);
    expect((await second.running).kind).toBe("aborted");
    expect(other.isOpen).toBe(false);
    await expect(runner.openSession()).rejects.toMatchObject({ code: "ERR_SANDBOX_CLOSED" });
    expect(childrenOf(maker.host())).toEqual([]);
  });

  test("is closed by `await using`", async () => {
    const ended = await (async () => {
      await using session = await maker.open();
      expect((await run(session, "exit 4")).exitCode).toBe(4);
      return { promise: session.ended };
    })();
    expect(await ended.promise).toBe("it was closed");
    expect(childrenOf(maker.host())).toEqual([]);
  });

  const victims: [string, () => number[]][] = [
    ["what was spawned for it", () => childrenOf(maker.host())],
    ["its launcher", () => childrenOf(maker.host()).flatMap(childrenOf)],
    [
      "a command's launcher",
      () => childrenOf(maker.host()).flatMap(childrenOf).flatMap(childrenOf),
    ],
  ];
  test.each(victims)("that loses %s ends, and says so", async (_, find) => {
    const session = await maker.open();
    const { mark, running } = await begin(session);
    const other = await begin(session);
    const [victim] = find();
    expect(victim).toBeDefined();
    if (victim !== undefined) process.kill(victim, "SIGKILL");
    const ends = await Promise.all([running, other.running]);
    for (const { kind, exitCode } of ends) expect([kind, exitCode]).toEqual(["signaled", 137]);
    const why = await session.ended;
    expect(why).toMatch(/its first process is gone|could not be proved/);
    expect(session.isOpen).toBe(false);
    expect([...marked(mark), ...marked(other.mark)]).toEqual([]);
    expect(childrenOf(maker.host())).toEqual([]);
    expect(await refusal(session)).toMatchObject(closed(why));
    await session.close();
  });

  test("whose command's launcher was stopped still ends that command alone", async () => {
    const session = await maker.open();
    const { mark, running } = await begin(session, { timeoutMs: 3000 });
    const [launcher] = childrenOf(maker.host()).flatMap(childrenOf).flatMap(childrenOf);
    expect(launcher).toBeDefined();
    if (launcher !== undefined) process.kill(launcher, "SIGSTOP");
    expect(await running).toMatchObject({ kind: "timed-out", exitCode: 124 });
    expect(marked(mark)).toEqual([]);
    expect(session.isOpen).toBe(true);
    expect((await run(session, "exit 6")).exitCode).toBe(6);
    await session.close();
  });

  const unbound = isRoot ? "RLIMIT_NPROC does not bind root (setrlimit(2))" : undefined;
  testUnless(unbound, `that can have no further process says so, ${maker.name}`, async () => {
    await using session = await maker.open();
    const launchers = [
      ...childrenOf(maker.host()),
      ...childrenOf(maker.host()).flatMap(childrenOf),
    ];
    for (const pid of launchers) spawnSync("prlimit", ["--pid", String(pid), "--nproc=1:1"]);
    await run(session, ["true"]); // its launcher may have stood already
    const seen = await run(session, "echo never");
    expect(seen).toMatchObject({ kind: "setup-failed", exitCode: 125, out: "" });
    expect(seen.err).toContain("cannot start a process");
    expect(session.isOpen).toBe(true);
    await session.close();
  });

  test("whose launcher is stopped can be closed, also while it is opened", async () => {
    await using session = await maker.open();
    const [spawned] = childrenOf(maker.host());
    const [launcher] = childrenOf(spawned ?? 0);
    await eventually(
      "the next command's launcher stands",
      () => childrenOf(launcher ?? 0).length > 0,
    );
    for (const pid of [launcher, spawned]) if (pid !== undefined) process.kill(pid, "SIGSTOP");
    await run(session, ["true"]); // in the one that stands
    const waiting = run(session, "echo never", { limits: { timeoutMs: 500 } });
    expect((await waiting).kind).toBe("timed-out");
    await session.close();
    for (const pid of [launcher, spawned]) expect(isAlive(pid ?? 0)).toBe(false);
  });
});

/** Words that run the program after them where no further pid namespace can be made. */
const kNoPidNamespaces = [
  ...["unshare", "--user", "--map-root-user", "sh", "-c"],
  'echo 0 > /proc/sys/user/max_pid_namespaces && exec "$@"',
  "sh",
];

function whyNoUserNamespace(): string | undefined {
  const [program = "", ...args] = [...kNoPidNamespaces, "true"];
  const tried = spawnSync(program, args, { encoding: "utf8" });
  return tried.status === 0 ? undefined : `unshare: ${tried.error?.message ?? tried.stderr.trim()}`;
}

describeSandboxed("sessions leave nothing", () => {
  let probe = "";
  beforeAll(() => {
    probe = buildProbe(tempDirectory("tools"));
  });
  const lacks = whyNo("landlock");
  if (lacks !== undefined) process.stderr.write(`tried without landlock: ${lacks}\n`);
  const env = lacks === undefined ? {} : { WITHOUT_LANDLOCK: "1" };
  const end = (how: string) =>
    runHost(probe, "host-of-sessions.mjs", { args: [how, tempDirectory()], env });
  const clean = { code: 0, left: [], err: "" };

  test.each(["exit", "opening"])("when the host exits: %s", async (how) => {
    expect(await end(how)).toMatchObject({ ...clean, code: 7 });
  });

  test("and do not keep a host from ending", async () => {
    expect(await end("idle")).toMatchObject({ ...clean, out: '"last"\n' });
  });

  const kUncollected = whyNotHere({ Bun: "its collector frees few in ten seconds of gc()" });
  for (const how of ["collect", "drop"]) {
    testUnless(kUncollected, `when nobody refers to them: ${how}`, async () => {
      expect(await end(how)).toMatchObject({ ...clean, out: "[true,0]\n" });
    });
  }

  test("with their runner, when nobody refers to them", async () => {
    expect(await end("drop")).toMatchObject(clean);
  });

  testUnless(whyNotHere(kEarly), "when a worker is ended in mid-run", async () => {
    expect(await end("worker")).toMatchObject({ ...clean, out: "0\n0\n0\n" });
  });

  const name = "when their launcher is killed where there is no pid namespace";
  testUnless(lacks ?? whyNoUserNamespace(), name, async () => {
    const args = ["orphan", tempDirectory()];
    const ended = await runHost(probe, "host-of-sessions.mjs", { args, before: kNoPidNamespaces });
    expect(ended).toMatchObject(clean);
    const { layers, kinds, reason, left } = JSON.parse(ended.out);
    expect(layers).not.toContain("pid-namespace");
    expect(kinds).toHaveLength(3);
    for (const kind of kinds) expect(["signaled", "aborted"]).toContain(kind);
    expect(reason).toBe("its first process is gone");
    expect(left).toEqual([]);
  });

  test("when the host is killed", async () => {
    const host = startHost(probe, "host-of-sessions.mjs", { args: ["wait", tempDirectory()], env });
    await eventually("the host is ready", () => host.said().includes("ready"));
    await delay(50);
    killHost(host);
    expect(await host.ended).toMatchObject({ code: 128 + 9, left: [] });
  });
});

/** As in Bun, whose collector may take a session long before what is native of it. */
class WithoutSessions<Value extends object> {
  readonly #value: Value;
  constructor(value: Value) {
    this.#value = value;
  }
  deref(): Value | undefined {
    return this.#value instanceof Session ? undefined : this.#value;
  }
}

describeSandboxed("a session that was collected before its native part", () => {
  test("ends with its runner", async () => {
    vi.stubGlobal("WeakRef", WithoutSessions);
    onTestFinished(() => void vi.unstubAllGlobals());
    const runner = new BubblewrapNativeRunner({ shadowDir: tempDirectory(), prewarm: 0 });
    const { ended } = await runner.openSession();
    await runner.close();
    expect(await ended).toBe("it was closed");
  });
});

describe("sessions at the end of this file", () => {
  test("have left no child", () => {
    for (const { host } of kSessionMakers) expect(childrenOf(host())).toEqual([]);
  });
});
