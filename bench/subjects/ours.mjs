// This package as an application uses it: the published entry point, strict isolation, at what
// its runners and sessions can be told.

import { setTimeout as sleep } from "node:timers/promises";

import { burst, bursts, descendantBytes, millisecondsOf } from "../bursts.mjs";
import { fallAfterPeak, summarize } from "../statistics.mjs";

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

/**
 * `prewarm` is how many sandboxes it keeps standing; 0: every run gets its own when it comes, a new one
 * or, with `clone`, a clone of the runner's template. `network`, `maxConcurrent`: the runner's options; `more`: others.
 */
export async function openRunner({ workspace, prewarm = 0, clone = "never", ...options }) {
  const { BubblewrapNativeRunner } = await import("../../dist/index.js");
  const given = { shadowDir: workspace, network: "deny", prewarm, clone, prewarmIdleMs: kIdleMs };
  Object.assign(given, options.more);
  for (const name of ["network", "maxConcurrent"]) {
    if (options[name] !== undefined) given[name] = options[name];
  }
  const runner = new BubblewrapNativeRunner(given);
  if (prewarm > 0) return prewarmed(runner, prewarm);
  if (clone === "never") return cold(runner);
  const variant = cloned(runner);
  await variant.ready();
  return variant;
}

/** One kept sandbox of this package, all commands in it. `runtime` is bubblewrap or landlock. */
async function openSession({ workspace, runtime }) {
  const { BubblewrapNativeRunner, LandlockNativeRunner } = await import("../../dist/index.js");
  const runners = { bubblewrap: BubblewrapNativeRunner, landlock: LandlockNativeRunner };
  const runner = new runners[runtime]({ shadowDir: workspace, network: "deny" });
  const session = await runner.openSession({ idleTimeoutMs: Infinity });
  return {
    exec: (input) => session.exec(input),
    sandboxBytes: () => descendantBytes(() => true),
    close: () => session.close(),
  };
}

/** This package's Landlock runner at its defaults, but for the network, which is denied there too. */
async function openLandlock({ workspace }) {
  const { LandlockNativeRunner } = await import("../../dist/index.js");
  const runner = new LandlockNativeRunner({ shadowDir: workspace, network: "deny" });
  return { exec: (input) => runner.exec(input) };
}

const kAtOnce = [1, 2, 4, 8, 16, 64];
const kTurns = 3;

/**
 * The rate of cloned runs by how many are in flight, all within one burst, so that the machine is the
 * same for each.
 */
async function openRates({ workspace }) {
  const variant = await openRunner({ workspace, clone: "auto", maxConcurrent: 64 });
  const rateAt = async (atOnce, runs) => {
    const { wallMs } = await burst(variant, { argv: ["/bin/true"], runs, atOnce });
    return (runs / wallMs) * 1e3;
  };
  return {
    async burst({ runs }) {
      const turns = kAtOnce.map(() => []);
      for (let turn = 0; turn < kTurns; turn++) {
        for (const [i, atOnce] of kAtOnce.entries()) turns[i].push(await rateAt(atOnce, runs));
      }
      const rates = turns.map((samples) => summarize(samples).p50);
      return { runMs: [], rates, fallPercent: fallAfterPeak(rates) };
    },
    close: () => variant.close(),
  };
}

/** The first run of each runner: what it does for later ones (its template) must not delay it. */
async function openFirstRun({ workspace, options }) {
  const { BubblewrapNativeRunner } = await import("../../dist/index.js");
  return {
    burst: bursts(async () => {
      const runner = new BubblewrapNativeRunner({
        shadowDir: workspace,
        network: "deny",
        ...options,
      });
      const taken = await millisecondsOf(() => runner.exec({ argv: ["/bin/true"] }));
      await runner.close();
      return taken;
    }),
  };
}

export const kPrewarmed = 8;
const kPoolSizes = [2, 4, 8, 16];

export const kCold = { prewarm: 0, clone: "never" };
export const kCloned = { prewarm: 0, clone: "auto" };

const kOneName = { allow: ["a.test"] };

const pools = Object.fromEntries(
  kPoolSizes.map((prewarm) => [
    `pool${prewarm}`,
    {
      title: `pool of ${prewarm}`,
      kind: "ours",
      open: openRunner,
      options: { prewarm, clone: "auto" },
    },
  ]),
);

/** Ours without standing sandboxes, and with more and more of them. */
export const poolVariants = ["ours", ...Object.keys(pools)];

export const variants = {
  ours: { title: "ours, cold", kind: "ours", open: openRunner, options: kCold },
  cloned: { title: "ours, cloned", kind: "ours", open: openRunner, options: kCloned },
  prewarmed: {
    title: "ours, prewarmed",
    kind: "ours",
    open: openRunner,
    options: { prewarm: kPrewarmed, clone: "auto" },
  },
  crowdCold: {
    title: "ours, cold, 64 at once",
    kind: "ours",
    open: openRunner,
    options: { ...kCold, maxConcurrent: 64 },
  },
  crowdCloned: {
    title: "ours, cloned, 64 at once",
    kind: "ours",
    open: openRunner,
    options: { ...kCloned, maxConcurrent: 64 },
  },
  cloneRates: { title: "ours, cloned, at all rates", kind: "ours", open: openRates },
  firstRun: {
    title: "a runner's first run",
    kind: "ours",
    open: openFirstRun,
    options: { options: {} },
  },
  firstColdRun: {
    title: "the same, cold",
    kind: "ours",
    open: openFirstRun,
    options: { options: kCold },
  },
  session: {
    title: "ours, session",
    kind: "ours",
    open: openSession,
    options: { runtime: "bubblewrap" },
  },
  landlock: { title: "ours, Landlock", kind: "ours", open: openLandlock },
  landlockSession: {
    title: "ours, Landlock session",
    kind: "ours",
    open: openSession,
    options: { runtime: "landlock" },
  },
  ...pools,
  byDomain: {
    title: "ours, network by domain",
    kind: "ours",
    open: openRunner,
    options: { ...kCold, network: kOneName },
  },
  byDomainPrewarmed: {
    title: "ours, prewarmed, network by domain",
    kind: "ours",
    open: openRunner,
    options: { prewarm: kPrewarmed, clone: "auto", network: kOneName },
  },
};
