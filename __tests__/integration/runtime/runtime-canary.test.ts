/** The proof itself: it finds out what does not confine, and what can't be tried. */

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { expect, test } from "vitest";

import {
  BubblewrapNativeRunner,
  LocalNativeRunner,
  type NativeExecInput,
  type RuntimeRunner,
} from "../../../lib/index.js";
import { type CanaryReport, runCanary } from "../../../lib/runtime/canary.js";
import { whyBroken } from "../../../lib/runtime/canary-probes.js";
import { kSurvivorSuffix } from "../../../lib/runtime/canary-script.js";
import type { Grants } from "../../../lib/runtime/kinds.js";
import { whyNotHere } from "../other-hosts/this-engine.js";
import { allPids, readProc } from "../support/processes.js";
import { describeSandboxed, testUnless } from "../support/requirements.js";

const kNothing: Grants = { readable: [], writable: [], network: false };
const local = (shadowDir: string) => new LocalNativeRunner({ shadowDir });
const bubblewrap = (shadowDir: string) => new BubblewrapNativeRunner({ shadowDir });

function verdicts(report: CanaryReport): Record<string, string> {
  if (report.kind === "failed") throw new Error(report.reason);
  return Object.fromEntries(report.probes.map(({ name, verdict }) => [name, verdict]));
}

function probesOf(report: CanaryReport) {
  return report.kind === "completed" ? report.probes : [];
}

describeSandboxed("the canary", () => {
  test("gets out of no Bubblewrap", async () => {
    const report = await runCanary(bubblewrap, local, kNothing);
    expect(Object.values(verdicts(report))).not.toContain("reached");
    expect(verdicts(report)).toMatchObject({
      "read-secret": "refused",
      "write-outside": "refused",
      outlive: "refused",
    });
    expect(whyBroken(probesOf(report))).toBeUndefined();
    expect(report.layers).toContain("mount-namespace");
  });

  test("gets out of what confines nothing, by every way there is a program for", async () => {
    const report = await runCanary(local, local, kNothing);
    const found = verdicts(report);
    expect(found).toMatchObject({ "read-secret": "reached", "write-outside": "reached" });
    for (const name of ["reach-tcp", "reach-abstract"]) {
      expect(["reached", "unproved"]).toContain(found[name]);
    }
    expect(whyBroken(probesOf(report))).toContain("could read a file outside");
  });

  const kOwnWords = whyNotHere({
    Deno: "its child_process puts words of its own behind Deno's path, wherever that stands in the arguments",
  });
  testUnless(kOwnWords, "outlives what lets it", async () => {
    const marks: string[] = [];
    const leaky = (shadowDir: string): Pick<RuntimeRunner, "exec"> => ({
      exec: async (input: NativeExecInput) => {
        const [program = "", ...args] = input.argv;
        marks.push(...args.filter((word) => word.startsWith("native-runner-canary-")));
        const child = spawn(program, args, {
          cwd: shadowDir,
          env: { ...input.env },
          stdio: ["ignore", "pipe", "ignore"],
        });
        const chunks: Buffer[] = [];
        child.stdout.on("data", (chunk: Buffer) => {
          chunks.push(chunk);
          input.onStdout?.(chunk);
        });
        await new Promise((resolve) => child.on("exit", resolve));
        child.stdout.destroy();
        const result = await local(shadowDir).exec({ argv: ["true"] });
        return { ...result, stdout: Buffer.concat(chunks) };
      },
    });
    try {
      const report = await runCanary(leaky, local, kNothing);
      expect(verdicts(report).outlive).toBe("reached");
    } finally {
      for (const mark of marks) endSurvivor(mark);
    }
  });

  test("is believed only where its control gets through", async () => {
    const report = await runCanary(bubblewrap, bubblewrap, kNothing);
    expect(verdicts(report)).toMatchObject({
      "read-secret": "unproved",
      "write-outside": "unproved",
      "reach-tcp": "layer",
    });
    expect(whyBroken(probesOf(report))).toContain("could not be proved");
  });

  test("does not call what a policy grants an escape", async () => {
    const everything: Grants = { readable: ["/"], writable: ["/"], network: true };
    const found = verdicts(await runCanary(local, local, everything));
    expect(Object.values(found)).toEqual(["granted", "granted", "granted", "granted", "refused"]);
  });

  test("says why it could not be run", async () => {
    const absent = (shadowDir: string) =>
      new BubblewrapNativeRunner({ shadowDir, roBinds: ["/not/there"] });
    expect(await runCanary(absent, local, kNothing)).toMatchObject({
      kind: "failed",
      reason: expect.stringContaining("/not/there"),
    });
    const bare = (shadowDir: string) => new BubblewrapNativeRunner({ shadowDir, roBinds: [] });
    expect(await runCanary(bare, local, kNothing)).toMatchObject({
      kind: "failed",
      reason: expect.stringContaining("not-found"),
    });
  });

  test("leaves nothing behind", async () => {
    const seen: string[] = [];
    const watched = (shadowDir: string): Pick<RuntimeRunner, "exec"> => ({
      exec: (input) => {
        seen.push(shadowDir, ...input.argv.filter((word) => /\/native-runner-canary-/.test(word)));
        expect(seen.length).toBeGreaterThan(2);
        expect(seen.filter((path) => !existsSync(path))).toEqual([]);
        return bubblewrap(shadowDir).exec(input);
      },
    });
    expect((await runCanary(watched, local, kNothing)).kind).toBe("completed");
    expect(seen.filter((path) => existsSync(path))).toEqual([]);
  });
});

/** Ends the survivor with this mark, which is in a session of its own. */
function endSurvivor(mark: string): void {
  for (const pid of allPids()) {
    if (
      readProc(pid, "cmdline")
        .split("\0")
        .includes(mark + kSurvivorSuffix)
    ) {
      process.kill(pid, "SIGKILL");
    }
  }
}
