/**
 * Hosts that are not Node use the package as Node does: each way to run a command, sessions, live
 * processes, worker threads; and when they end in mid-run nothing is left. What differs is in
 * docs/platforms/bun-deno.md. They need a built dist/.
 */

import { randomInt } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { isSanitized } from "../../support/sanitized.js";
import { eventually } from "../../support/waits.js";
import { type HostOptions, killHost, runHost, startHost } from "../support/host-program.js";
import { buildProbe } from "../support/probe.js";
import { describeUnless, whyNoBubblewrap } from "../support/requirements.js";
import { buildSkills } from "../support/skills.js";
import { tempDirectory } from "../support/temp.js";
import { engines } from "./engines.js";

const kTimeout = { timeout: 60_000 };
const kSanitizedOnlyInNode = "a sanitizer's runtime is for Node alone";

let probe = "";
beforeAll(() => {
  probe = buildProbe(tempDirectory("tools"));
});

/** A variable of a host that takes it out of its process.env. */
const kTakenAway = { env: { NATIVE_RUNNER_TAKEN_AWAY: "still there" } };

test("under Node the host program can do all that it tries", async () => {
  const options = { args: [tempDirectory()], ...kTakenAway };
  const { code, out, err } = await runHost(probe, "other-host.mjs", options);
  expect({ code, err }).toEqual({ code: 0, err: "" });
  const report = JSON.parse(out);
  for (const [use, settled] of Object.entries(report)) {
    expect(settled, use).toHaveProperty("value");
  }
  expect(report.environment.value).toBe("by the host, \n");
});

/** What a host makes of a WASM skill with an engine, and no other one on its PATH. */
async function ofSkill(engine: string, options: HostOptions = {}) {
  const { echo } = await buildSkills(["echo"]);
  const args = [echo, engine];
  const env = { PATH: tempDirectory() };
  const { code, out, err } = await runHost(probe, "skills/engine.mjs", { ...options, args, env });
  expect({ code, err }).toEqual({ code: 0, err: "" });
  return JSON.parse(out);
}

test.each(["node", "auto"])("under Node a skill runs with the engine %s", async (engine) => {
  expect(await ofSkill(engine)).toEqual({ output: "hello" });
});

for (const { name, words, whyNot } of engines()) {
  const why = whyNot ?? whyNoBubblewrap ?? (isSanitized ? kSanitizedOnlyInNode : undefined);
  const options = (...args: string[]): HostOptions => ({ words, args });
  const run = (host: string, ...args: string[]) =>
    runHost(probe, host, options(...args, tempDirectory()));

  describeUnless(why, name, () => {
    test("does all that Node does, with the same ends", async () => {
      const args = [tempDirectory()];
      const inNode = await runHost(probe, "other-host.mjs", { args, ...kTakenAway });
      const here = await runHost(probe, "other-host.mjs", { words, args, ...kTakenAway });
      const { code, out, err, left } = here;
      expect({ code, err, left }).toEqual({ code: 0, err: "", left: [] });
      expect(JSON.parse(out)).toEqual(JSON.parse(inNode.out));
    });

    test.each(["node", "auto"])("says what a skill needs, with the engine %s", async (engine) => {
      const error = await ofSkill(engine, { words });
      expect(error).toMatchObject({ name: "SkillError", code: "ERR_SKILL_ENGINE" });
      expect(error.message).toContain(`needs Node.js, and this host runs in ${name}`);
      expect(error.fix).toContain("install wasmtime");
    });

    test("ends by itself when its runs are over", async () => {
      expect(await run("idle.mjs")).toMatchObject({ code: 0, left: [], err: "", out: "[5,5,5]\n" });
      expect(await run("host-of-sessions.mjs", "idle")).toMatchObject({
        code: 0,
        left: [],
        out: '"last"\n',
      });
    });

    describe("that ends in mid-run", () => {
      const kEnds: [string, number][] = [
        ["exit", 7],
        ["in-callback", 7],
        ["abort-and-exit", 7],
        ["throw", 1],
        ["reject", 1],
        ["signal", 128 + 15],
      ];
      test.concurrent.for(kEnds)("by %s: nothing is left", kTimeout, async ([how, code]) => {
        const ended = await run("ends-in-mid-run.mjs", how);
        expect(ended.out).toContain("started");
        expect(ended).toMatchObject({ code, left: [] });
      });

      test.concurrent.for([
        ["host-of-sessions.mjs", "exit"],
        ["host-of-sessions.mjs", "opening"],
        ["host-of-live-processes.mjs", "exit"],
        ["host-of-live-processes.mjs", "unread"],
      ])("%s, by %s: nothing is left", kTimeout, async ([host = "", how = ""]) => {
        expect(await run(host, how)).toMatchObject({ code: 7, left: [] });
      });

      test.concurrent("by SIGKILL: nothing is left", kTimeout, async () => {
        for (let round = 0; round < 4; round += 1) {
          const host = startHost(probe, "runs-without-end.mjs", options(tempDirectory()));
          await eventually("the host is ready", () => host.said().includes("ready"));
          await delay(randomInt(0, 80));
          killHost(host);
          expect(await host.ended).toMatchObject({ code: 128 + 9, left: [] });
        }
      });
    });

    describe("with worker threads", () => {
      test.concurrent("several and the main thread run at once", kTimeout, async () => {
        const ended = await run("workers.mjs", "together");
        expect(ended).toMatchObject({ code: 0, left: [], err: "" });
        expect(JSON.parse(ended.out)).toEqual({ good: Array(5).fill(true), left: [] });
      });

      // Deno's parentPort has no close(), and its terminate() settles before the thread has ended:
      // there the reaper shows that nothing stays.
      const kHow = ["terminate", "busy", "exit", ...(name === "Deno" ? [] : ["handles"])];
      test.concurrent.for(kHow)("ended in mid-run by %s", kTimeout, async (how) => {
        const ended = await run("workers.mjs", how);
        expect(ended).toMatchObject({ code: 0, left: [], err: "" });
        const { left, goesOn } = JSON.parse(ended.out);
        expect(goesOn).toBe(true);
        if (name !== "Deno") expect(left).toEqual([]);
      });
    });
  });
}
