/** Leases while the host runs: what they are made with, how long runs go on, and what is told of the end. */

import { setTimeout as delay } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";

import { eventually } from "../../support/waits.js";
import {
  BubblewrapNativeRunner,
  Lease,
  type LeaseOptions,
  LocalNativeRunner,
  type NativeExecInput,
} from "../support/package.js";
import { describeSandboxed } from "../support/requirements.js";
import { run } from "../support/results.js";
import { kRunners } from "../support/runners.js";
import { tempDirectory } from "../support/temp.js";

const kLong = 600_000;
const kExpired = { kind: "lease-expired", exitCode: 137 };

let beats: NodeJS.Timeout[] = [];
afterEach(() => {
  for (const beat of beats) clearInterval(beat);
  beats = [];
});

/** One that is renewed until the test is over, or what is returned is called. */
function beating(ms: number) {
  const lease = new Lease({ ms });
  const beat = setInterval(() => lease.renew(), ms / 10);
  beats.push(beat);
  return { lease, stop: () => clearInterval(beat) };
}

const expired = async () => {
  const lease = new Lease({ ms: 1 });
  while (!lease.expired) await delay(1);
  return lease;
};

describe("a lease", () => {
  test("holds for its term, and for another from each renewal on", async () => {
    const lease = new Lease({ ms: kLong });
    expect(lease).toMatchObject({ ms: kLong, expired: false });
    expect(lease.renew()).toBe(true);
  });

  test("stays expired", async () => {
    const lease = await expired();
    for (let i = 0; i < 3; i += 1) expect(lease.renew()).toBe(false);
    expect(lease.expired).toBe(true);
  });

  const kType = "ERR_INVALID_ARG_TYPE";
  const kRange = "ERR_OUT_OF_RANGE";
  test.each([
    [0, kRange],
    [-1, kRange],
    [1.5, kRange],
    [Number.NaN, kRange],
    [Number.POSITIVE_INFINITY, kRange],
    [2 ** 31, kRange],
    ["1", kType],
    [1n, kType],
    [null, kType],
    [undefined, kType],
    [{}, kType],
  ])("is not made with a term of %s", (ms, code) => {
    expect(() => new Lease({ ms } as LeaseOptions)).toThrow(
      expect.objectContaining({ code, message: expect.stringContaining("`ms`") }),
    );
  });

  test.each([1, 2 ** 31 - 1])("is made with one of %s", (ms) => {
    expect(new Lease({ ms }).ms).toBe(ms);
  });

  test("is not made with a field that it does not know, nor without options", () => {
    const given = { ms: 5, unit: "s" } as LeaseOptions;
    expect(() => new Lease(given)).toThrow(
      expect.objectContaining({
        code: "ERR_INVALID_ARG_VALUE",
        message: expect.stringContaining('Unknown field "unit" in `options`'),
      }),
    );
    for (const none of [undefined, null, 5]) {
      expect(() => new Lease(none as unknown as LeaseOptions)).toThrow(TypeError);
    }
  });

  test.each([null, 5, "lease", {}, [], { ms: 5, expired: false, renew: () => true }])(
    "is nothing else: %j",
    async (given) => {
      const runner = new LocalNativeRunner({ shadowDir: tempDirectory() });
      const input = { argv: ["true"], lease: given } as unknown as NativeExecInput;
      const refusal = expect.objectContaining({
        code: kType,
        message: expect.stringContaining("`lease` to be a Lease"),
      });
      await expect(runner.exec(input)).rejects.toEqual(refusal);
      await expect(runner.spawn(input)).rejects.toEqual(refusal);
    },
  );
});

describe.each(kRunners)("%s: a run", (name, make) => {
  const sandboxed = name === "local" ? describe : (describeSandboxed as typeof describe);
  sandboxed("with a lease", () => {
    test("goes on while it is renewed, and ends when it is not", async () => {
      const { lease, stop } = beating(3000); // the host is late by less, however busy the machine is
      const runner = make(tempDirectory());
      expect(await run(runner, "sleep 7; exit 7", { lease })).toMatchObject({
        kind: "exited",
        exitCode: 7,
      });
      const script = "echo up; (setsid sleep 1000 &); sleep 1000";
      let isUp = false;
      const onStdout = () => {
        isUp = true;
      };
      const running = run(runner, script, { lease, onStdout });
      await eventually("it is up", () => isUp);
      stop();
      const { result, ...seen } = await running;
      expect(seen).toMatchObject({ ...kExpired, out: "up" });
      expect(result.audits).toMatchObject([
        { outcome: "lease-expired", timedOut: false, signal: "SIGKILL", kill: "proved" },
      ]);
    });

    test("that has expired is not started", async () => {
      const seen = await run(make(tempDirectory()), "echo up", { lease: await expired() });
      expect(seen).toMatchObject({ ...kExpired, out: "" });
    });

    test("has the outcome that comes first", async () => {
      const runner = make(tempDirectory());
      const lease = new Lease({ ms: kLong });
      const limits = { timeoutMs: 300 };
      expect((await run(runner, "sleep 1000", { lease, limits })).kind).toBe("timed-out");
      const signal = AbortSignal.timeout(300);
      expect((await run(runner, "sleep 1000", { lease, signal })).kind).toBe("aborted");
      expect((await run(runner, "kill -SEGV $$", { lease })).kind).toBe("signaled");
      expect((await run(runner, ["no-such-command"], { lease })).kind).toBe("not-found");
    });
  });
});

describeSandboxed("one lease", () => {
  test("is for any number of runs, of any kind, and for later ones", async () => {
    const { lease, stop } = beating(1500);
    const shadowDir = tempDirectory();
    const runners = kRunners.map(([, make]) => make(shadowDir));
    const sandboxed = new BubblewrapNativeRunner({ shadowDir });
    await using session = await sandboxed.openSession();
    const live = await sandboxed.spawn({ argv: ["sleep", "1000"], lease });
    const terminal = await session.start({
      argv: ["sleep", "1000"],
      lease,
      pty: { cols: 80, rows: 24 },
    });
    const all = Promise.all([
      ...runners.flatMap((runner) => [1, 2, 3].map(() => run(runner, "sleep 1000", { lease }))),
      run(session, "sleep 1000", { lease }),
    ]);
    const other = run(session, "sleep 4; echo other");
    await delay(2000);
    stop();
    for (const seen of await all) expect(seen).toMatchObject(kExpired);
    for (const process of [live, terminal]) {
      expect(await process.result).toMatchObject({ outcome: { kind: "lease-expired" } });
    }
    expect((await other).out).toBe("other");
    expect(await run(session, "echo up", { lease })).toMatchObject({ ...kExpired, out: "" });
    expect((await run(session, "echo up")).out).toBe("up");
  });

  test("is for the commands of a batch", async () => {
    const runner = new BubblewrapNativeRunner({ shadowDir: tempDirectory() });
    const lease = new Lease({ ms: 1500 });
    const argv = ["sh", "-c", "sleep 1000"];
    const results = await runner.execBatch([["true"], { argv, lease }, { argv, lease }, ["true"]]);
    const kinds = results.map(({ outcome }) => outcome.kind);
    expect(kinds).toEqual(["exited", "lease-expired", "lease-expired", "exited"]);
  });

  test("that has expired starts no live process", async () => {
    const runner = new BubblewrapNativeRunner({ shadowDir: tempDirectory() });
    const live = await runner.spawn({ argv: ["echo", "up"], lease: await expired() });
    expect(await live.stdout.toArray()).toEqual([]);
    expect(await live.result).toMatchObject({ outcome: { kind: "lease-expired" } });
  });

  test("is nothing to a run that is only explained", async () => {
    const runner = new BubblewrapNativeRunner({ shadowDir: tempDirectory() });
    const { cmd } = await runner.explain({ argv: ["true"], lease: await expired() });
    expect(cmd).toBe("bwrap");
  });

  test("keeps nothing alive, and may be dropped in mid-run", async () => {
    const runner = new LocalNativeRunner({ shadowDir: tempDirectory() });
    const running = run(runner, "sleep 1000", { lease: new Lease({ ms: 500 }) });
    expect(await running).toMatchObject(kExpired);
  });
});
