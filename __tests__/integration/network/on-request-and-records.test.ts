/** A network by domain as its users see it: onRequest, kinds of runs, the record, command line, variables. */

import { expect, test } from "vitest";

import { isSanitized } from "../../support/sanitized.js";
import {
  describeUnless,
  testUnless,
  whyNoBindFd,
  whyNoBubblewrap,
} from "../support/requirements.js";
import { scenario } from "./host-scenario.js";
import { whyNoOwnNetwork } from "./own-network.js";

const kAllowed = "a.test allowed a.test:PORT transparent";

/** Ports differ. */
const plain = (reported: readonly string[]) =>
  reported.map((each) => each.replace(/:\d+/, ":PORT"));

describeUnless(whyNoBubblewrap ?? whyNoOwnNetwork, "a network by domain", () => {
  test("onRequest decides what no rule does, and what is no answer is a denial", async () => {
    const said = await scenario<Record<string, [number, string, ...string[]]>>("answers");
    for (const [name, [code, out, ...reported]] of Object.entries(said)) {
      const isAllowed = name.endsWith("allow");
      expect([name, code, out]).toEqual([
        name,
        isAllowed ? 0 : 9,
        isAllowed ? "hello b.test\n" : "",
      ]);
      expect(reported[0]).toMatch(isAllowed ? /^b.test allowed onRequest / : /^b.test denied /);
    }
    expect(Object.keys(said)).toHaveLength(8);
  }, 60_000);

  test("connections are told while the command runs, and denials that are alike once", async () => {
    const { reported, ...said } = await scenario<{
      reported: (number | string)[][];
      count: number;
    }>("events");
    const [[run] = [], ...later] = reported;
    expect(run).toEqual(expect.any(Number));
    expect(reported[0]).toEqual([run, "opened", "a.test"]);
    // A connection's end and the next question are seen in either order.
    expect(later.sort()).toEqual([
      [run, "ended", "a.test"],
      [run, "refused", "q0.test"],
    ]);
    expect(said).toEqual({
      out: "hello x\non\n",
      exitCode: 0,
      count: expect.any(Number),
      quiet: 0,
    });
    expect(said.count).toBeGreaterThanOrEqual(50);
  }, 60_000);

  test("it is told who asks for what; the audit has what came of it", async () => {
    const said = await scenario<{
      asked: [host: string, isPort: boolean, via: string, names: string[], aborted: boolean][];
      out: string;
      reported: string[];
      none: string[];
      layers: string[];
      bytesOut: number;
      bytesIn: number;
      address: string;
    }>("asked");
    expect(said.asked.length).toBeGreaterThan(0);
    for (const [host, , via, names, aborted] of said.asked) {
      expect([host, via, names, aborted]).toEqual([
        "b.test",
        "transparent",
        ["a.test", "b.test", "c.test"],
        false,
      ]);
    }
    expect(said.out).toBe("hello a.test\nhello b.test\n");
    expect(plain(said.reported)).toEqual([
      kAllowed,
      "b.test allowed onRequest transparent",
      "c.test denied c.test transparent",
    ]);
    expect(said.none).toEqual([]);
    expect(said.layers).toEqual(expect.arrayContaining(["network-namespace", "network-by-domain"]));
    expect(said).toMatchObject({ bytesOut: 7, bytesIn: 13, address: "127.0.0.1" });
  }, 60_000);

  testUnless(
    whyNoBindFd,
    "it works in every kind of run",
    async () => {
      const { before, bwrap, ...kinds } = await scenario<Record<string, string[]>>("kinds");
      const names = ["cold", "prewarmed", "session", "batch", "live", "transaction"];
      expect(Object.keys(kinds).sort()).toEqual(names.sort());
      for (const [name, reported] of Object.entries(kinds)) {
        expect([name, ...plain(reported)]).toEqual([
          name,
          kAllowed,
          "b.test allowed onRequest transparent",
          expect.stringMatching(/^c\.test denied /),
        ]);
      }
      expect(before).toEqual([expect.stringMatching(/^c\.test denied /)]);
      expect(String(bwrap)).toContain("hello a.test\nhello b.test\n");
      expect(String(bwrap)).toContain("Exit code: 9");
    },
    120_000,
  );

  test("a question ends with its run, and keeps no process alive", async () => {
    expect(await scenario("unanswered")).toEqual({
      outcome: "timed-out",
      reported: [expect.stringMatching(/^b\.test denied /)],
      aborted: [true],
    });
  }, 60_000);

  test("a callback that holds its runner can be collected with it", async () => {
    expect(await scenario("collected")).toBe(true);
  }, 60_000);

  test("the command line allows hosts, and tells what was refused", async () => {
    type Run = { out: string; err: string; code: number };
    const said =
      await scenario<Record<"streams" | "json" | "wrong" | "operator" | "more", Run>>("cli");
    expect(said.streams).toMatchObject({ out: "hello a.test\n", code: 9 });
    const { connections } = JSON.parse(said.json.out).audits[0];
    expect(connections).toMatchObject([
      { host: "a.test", verdict: "allowed" },
      { host: "b.test", verdict: "denied" },
    ]);
    expect(said.wrong.code).toBe(2);
    expect(said.wrong.err).toContain("Expected --allow-host to be a host name");
    expect(said.operator).toMatchObject({ out: "hello b.test\n", code: 0 });
    expect(said.more.code).toBe(2);
    expect(said.more.err).toContain("the operator set OPENAGENTIC_SANDBOX_ALLOW_HOSTS");
  }, 120_000);

  const kTable = "a line tells what was refused when it is, and how to allow it";
  const why = isSanitized ? "a runner hands no sanitizer on to what it starts" : undefined;
  testUnless(
    why,
    kTable,
    async () => {
      const { out = "", exitCode } = await scenario<Record<string, string>>("terminal");
      expect(exitCode).toBe(9);
      expect(out).toMatch(/^hello a\.test$/m);
      const told =
        "native-runner: the network refused b.test (no rule names it); --allow-host b.test";
      expect(out.split(told)).toHaveLength(2); // which was not even resolved
    },
    60_000,
  );

  test("a runtime is proved with its rules, and a variable bounds them", async () => {
    const said = await scenario<Record<string, unknown>>("chosen");
    expect(said).toMatchObject({
      name: "bubblewrap",
      byDomain: true,
      probes: { "reach-tcp": "refused", "reach-abstract": "refused" },
      wrap: "bubblewrap can't wrap a process that the host starts itself with a network by domain",
    });
    expect(plain(said.runtime as string[])).toEqual([
      kAllowed,
      expect.stringMatching(/^b\.test denied /),
    ]);
    expect(plain(said.environment as string[])).toEqual([
      expect.stringMatching(/^a\.test denied /),
      "b.test allowed b.test:PORT transparent",
    ]);
  }, 120_000);
});
