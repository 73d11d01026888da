/**
 * A short run of chaos (npm run chaos is the long one): whatever ends the runs, their processes and
 * their hosts, nothing is left and every call has one outcome.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";

import { buildProbe } from "../integration/support/probe.js";
import { describeSandboxed, isRoot } from "../integration/support/requirements.js";
import { tempDirectory } from "../integration/support/temp.js";
import { chaosCommand } from "./chaos/start.mjs";

const kMinutes = 0.4;
const kLeastCalls = 21; // of each kind, however slow the machine is
const kPlantedMinutes = 0.05;

let probe = "";
beforeAll(() => {
  probe = buildProbe(tempDirectory("tools"));
});

/** A log that is cut short still has what was wrong: the tables are long. */
function faultsFirst(text: string): string {
  const start = text.search(/^FAULT /m);
  return start < 0 ? text : `${text.slice(start)}\n${text.slice(0, start)}`;
}

/** Runs it to its end; `text` is what it says, with the seed to repeat it, and where evidence is. */
async function chaos(minutes: number, ...options: string[]) {
  const directory = tempDirectory("chaos");
  const json = join(directory, "counts.json");
  const own = ["--minutes", String(minutes), "--directory", directory, "--json", json];
  const [program = "", ...words] = chaosCommand(probe, [...own, ...options], { isRoot });
  const running = spawn(program, words, { stdio: ["ignore", "pipe", "pipe"] });
  let text = "";
  for (const stream of [running.stdout, running.stderr]) {
    stream.on("data", (chunk) => {
      text += String(chunk);
    });
  }
  const [status] = await once(running, "close");
  text = faultsFirst(text);
  return { status, text, counts: () => JSON.parse(readFileSync(json, "utf8")) };
}

const sumOf = (counts: Record<string, number>) =>
  Object.values(counts).reduce((sum, count) => sum + count, 0);

describeSandboxed("chaos", () => {
  test("nothing is left, and every call has one outcome", async () => {
    const ended = await chaos(kMinutes, "--least-calls", String(kLeastCalls));
    expect(ended.status, ended.text).toBe(0);
    const { faults, calls, strikes, fates } = ended.counts();
    expect(faults).toEqual([]);
    // It has done what it is for.
    const runners = ["cold", "prewarmed", "adaptive", "narrow", "compat", "local"];
    for (const kind of runners)
      expect(sumOf(calls[kind]), kind).toBeGreaterThanOrEqual(kLeastCalls);
    for (const kind of ["exited", "timed-out", "aborted"]) {
      expect(calls.prewarmed[kind], kind).toBeGreaterThan(5);
    }
    const others = ["session", "session start", "batch", "prewarmed spawn"];
    for (const kind of others) expect(sumOf(calls[kind]), kind).toBeGreaterThan(10);
    for (const role of ["bwrap", "launcher", "command"]) {
      expect(sumOf(strikes[role]), role).toBeGreaterThan(5);
    }
    expect(fates.killed).toBeGreaterThan(0);
  });

  test("a call that never settles is told of, with all that is known", async () => {
    const evidence = tempDirectory("evidence");
    const ended = await chaos(kPlantedMinutes, "--plant-standstill", "--evidence", evidence);
    expect(ended.status, ended.text).toBe(1);
    const reported = [
      /host-1 did not come to rest/,
      /host-1\/planted-standstill \(endless, cold, deadline 600000 ms, .* s ago; its command is there/,
      / command \d+ \(parent \d+\): state S, waits in \w+, system call \d+: sleep 600/,
      / bwrap \d+ \(parent \d+\): state S/,
      / {4}\S+ \d+: state S, waits in \w+, system call \d+, stack /,
    ];
    for (const each of reported) expect(ended.text).toMatch(each);
    const [kept = ""] = readdirSync(evidence);
    expect(ended.text).toContain(join(evidence, kept));
    const files = readdirSync(join(evidence, kept)).sort();
    expect(files).toEqual(expect.arrayContaining(["host-1.jsonl", "host-1.txt"]));
    expect(readFileSync(join(evidence, kept, "host-1.txt"), "utf8")).toContain(
      "planted-standstill",
    );
  });

  test("whatever is left is found", async () => {
    const evidence = tempDirectory("evidence");
    const ended = await chaos(kPlantedMinutes, "--plant-faults", "--evidence", evidence);
    expect(ended.status, ended.text).toBe(1);
    const { faults } = ended.counts();
    const found = (faults as { kind: string; texts: string[] }[]).flatMap(({ kind, texts }) =>
      texts.map((text) => `${kind}: ${text}`),
    );
    const planted = [
      /^call: planted-outcome .*implausible: aborted/,
      /^call: planted-twice .*settled 2 times/,
      /^call: planted-write .*a write was never answered/,
      /^call: planted-state .*wrong output/,
      /^call: planted-batch .*wrong output/,
      /^struck session: planted-runner: untouched, and yet: its launcher was killed/,
      /^call: planted-unsettled .*never settled/,
      /^descriptors: host-1 .*\/dev\/null/,
      /^process left: sleep .*sleep 600/,
      /^temporary file left: .*planted-file/,
    ];
    const others = found.filter((text) => !planted.some((fault) => fault.test(text)));
    expect(others.join("\n"), ended.text).toBe("");
    for (const fault of planted) {
      expect(
        found.filter((text) => fault.test(text)),
        `${fault}\n${ended.text}`,
      ).toHaveLength(1);
    }
  });
});
