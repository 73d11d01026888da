// As root too: cloned sandboxes keep root's ids and capabilities apart.
/** What is told of where a sandbox came from: in records, in metrics, for each kind of runner and of run. */

import { afterEach, describe, expect, test } from "vitest";

import {
  BubblewrapNativeRunner,
  type BubblewrapNativeRunnerOptions,
  FirejailNativeRunner,
  LandlockNativeRunner,
  LocalNativeRunner,
} from "../support/package.js";
import { childrenOf } from "../support/processes.js";
import { describeSandboxed } from "../support/requirements.js";
import { describeRuntime } from "../support/runtimes.js";
import { tempDirectory } from "../support/temp.js";
import { cloning, startOf, templates, untilCloned } from "./cloning-runners.js";

const kTrue = { argv: ["true"] };
const kRuns = 12;

afterEach(() => expect(childrenOf(process.pid)).toEqual([]));

describeSandboxed("where a sandbox came from", () => {
  test("cold at first, and why; cloned then; metrics count them", async () => {
    const runner = new BubblewrapNativeRunner({ shadowDir: tempDirectory(), prewarm: 0 });
    const first = (await runner.exec(kTrue)).audits[0];
    expect(first).toMatchObject({ start: "cold", prewarmed: false });
    expect(first?.coldReason).toMatch(/template/);
    const reasons = await untilCloned(runner);
    expect(reasons.filter((reason) => !reason.startsWith("cold: "))).toEqual([]);
    const { audits } = await runner.exec(kTrue);
    expect(audits[0]).toMatchObject({ start: "cloned", prewarmed: false });
    expect(audits[0]).not.toHaveProperty("coldReason");
    expect(runner.metrics().runs).toMatchObject({ prewarmed: 0, cloned: 2 });
    expect(templates()).toHaveLength(1);
    await runner.close();
    expect(runner.metrics().runs.cloned).toBe(2);
  });

  const kNever: [string, Partial<BubblewrapNativeRunnerOptions>, coldReason?: string][] = [
    ['with clone: "never"', { clone: "never" }],
    ["with isolation compat", { isolation: "compat" }],
    ["with options of bwrap's own", { extraArgs: ["--hostname", "x"] }],
    ["without a /proc", { procBind: false }, "it has no /proc"],
  ];
  test.each(kNever)("cold for good %s", async (_, options, coldReason) => {
    const runner = new BubblewrapNativeRunner({
      shadowDir: tempDirectory(),
      prewarm: 0,
      ...options,
    });
    for (let i = 0; i < kRuns; i += 1) {
      const [audit] = (await runner.exec(kTrue)).audits;
      expect(audit).toMatchObject({ start: "cold", outcome: "exited" });
      expect(audit?.coldReason).toBe(coldReason);
    }
    expect(childrenOf(process.pid)).toEqual([]);
    expect(runner.metrics().runs.cloned).toBe(0);
    await runner.close();
  });

  test("prewarmed, be it a clone or not", async () => {
    for (const clone of ["auto", "never"] as const) {
      const runner = new BubblewrapNativeRunner({ shadowDir: tempDirectory(), prewarm: 1, clone });
      expect(await runner.warm()).toBe(1);
      const [audit] = (await runner.exec(kTrue)).audits;
      expect(audit).toMatchObject({ start: "prewarmed", prewarmed: true });
      expect(runner.metrics().runs).toMatchObject({ prewarmed: 1, cloned: 0 });
      await runner.close();
    }
  });

  test("a session's, also with a template beside it", async () => {
    const runner = await cloning({ shadowDir: tempDirectory() });
    const [template] = templates();
    const session = await runner.openSession();
    // It is a clone itself, beside no other sandbox of ours.
    expect(templates()).toEqual([template]);
    expect(childrenOf(template?.launcher ?? 0)).toHaveLength(1);
    const inSession = [await session.exec(kTrue), await session.exec(kTrue)];
    const inBatch = await runner.execBatch([["true"], ["true"]]);
    expect([...inSession, ...inBatch].map(startOf)).toEqual(Array(4).fill("session"));
    await session.close();
    await runner.close();
  });

  test("a transaction's runs tell it too, and a runner that only takes part has no clones", async () => {
    const shadowDir = tempDirectory();
    const runner = new BubblewrapNativeRunner({ shadowDir, prewarm: 0 });
    await using transaction = await runner.openTransaction({ directory: tempDirectory("state") });
    const other = new BubblewrapNativeRunner({ shadowDir, transaction });
    expect(other).toMatchObject({ prewarm: 0, clone: "never" });
    for (let i = 0; i < kRuns; i += 1) {
      const [audit] = (await other.exec({ argv: ["sh", "-c", `echo ${i} > file`] })).audits;
      expect(audit).toMatchObject({ start: "cold" });
      expect(audit).not.toHaveProperty("coldReason");
      const own = await transaction.exec({ argv: ["cat", "file"] });
      expect(own.stdoutText).toBe(`${i}\n`);
      expect(["cold", "cloned"]).toContain(startOf(own));
    }
    await other.close();
    await transaction.commit();
    expect((await runner.exec({ argv: ["cat", "file"] })).stdoutText).toBe(`${kRuns - 1}\n`);
    await transaction.discard();
    await runner.close();
  });
});

describe("other runners are cold", () => {
  const expectCold = async (runner: LocalNativeRunner) => {
    const [audit] = (await runner.exec(kTrue)).audits;
    expect(audit).toMatchObject({ start: "cold", prewarmed: false });
    expect(audit).not.toHaveProperty("coldReason");
    expect(runner.metrics().runs.cloned).toBe(0);
  };
  test("local", () => expectCold(new LocalNativeRunner({ shadowDir: tempDirectory() })));
  describeRuntime("landlock", () => {
    test("landlock", () => expectCold(new LandlockNativeRunner({ shadowDir: tempDirectory() })));
  });
  describeRuntime("firejail", () => {
    test("firejail", () => expectCold(new FirejailNativeRunner({ shadowDir: tempDirectory() })));
  });
});
