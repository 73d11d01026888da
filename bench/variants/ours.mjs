// This package as an application uses it: the published entry point, strict isolation. `prewarm` is
// how many sandboxes it keeps standing; 0: every run gets its own when it comes, a new one or, with
// `clone`, a clone of the runner's template. `network`, `maxConcurrent`: the runner's options.

import { setTimeout as sleep } from "node:timers/promises";

import { BubblewrapNativeRunner } from "../../dist/index.js";
import { descendantBytes } from "../host/memory.mjs";

function cold(runner) {
  return {
    exec: (input) => runner.exec(input),
    // What stands around a command that runs.
    async sandboxBytes() {
      const running = runner.exec({ argv: ["/bin/sleep", "0.2"] });
      await sleep(100);
      const bytes = descendantBytes((name) => name !== "sleep");
      await running;
      return bytes;
    },
    close: () => runner.close(),
  };
}

// A template is made anew when the host has changed, which other programs may have it do.
const kMostCold = 0.02;
const kMostTries = 100;
// None is to go away while the other variants have their turns.
const kIdleMs = 600_000;

function cloned(runner) {
  let runs = 0;
  let coldRuns = 0;
  let why = "no template was asked for";
  let isCloned = false;
  async function exec(input) {
    const result = await runner.exec(input);
    const [{ start, coldReason }] = result.audits;
    runs += 1;
    isCloned = start === "cloned";
    if (isCloned) return result;
    coldRuns += 1;
    why = coldReason;
    return result;
  }
  return {
    exec,
    /** Until runs are cloned; throws where those since the last time were not. */
    async ready() {
      if (coldRuns > kMostCold * runs) {
        throw new Error(`${coldRuns} of ${runs} runs were not cloned: ${why}`);
      }
      for (let tries = 0; !isCloned; tries++) {
        if (tries === kMostTries) throw new Error(`no run is cloned: ${why}`);
        await sleep(20);
        await exec({ argv: ["/bin/true"] });
      }
      [runs, coldRuns] = [0, 0];
    },
    sandboxBytes: () => descendantBytes(() => true),
    close: () => runner.close(),
  };
}

function prewarmed(runner, prewarm) {
  return {
    exec: (input) => runner.exec(input),
    async ready() {
      const standing = await runner.warm();
      if (standing < prewarm) throw new Error(`${standing} of ${prewarm} sandboxes stand`);
    },
    sandboxBytes: async () => descendantBytes(() => true) / prewarm,
    close: () => runner.close(),
  };
}

export async function open({ workspace, prewarm = 0, clone = "never", ...options }) {
  const given = { shadowDir: workspace, network: "deny", prewarm, clone, prewarmIdleMs: kIdleMs };
  if (options.network !== undefined) given.network = options.network;
  if (options.maxConcurrent !== undefined) given.maxConcurrent = options.maxConcurrent;
  const runner = new BubblewrapNativeRunner(given);
  if (prewarm > 0) return prewarmed(runner, prewarm);
  if (clone === "never") return cold(runner);
  const variant = cloned(runner);
  await variant.ready();
  return variant;
}
