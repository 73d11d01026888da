// What it costs that commands run on the workers of a pool: a broker and two workers on this machine.

import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { bursts, millisecondsOf } from "../bursts.mjs";
import { noBroker, openBroker, openPool } from "./broker.mjs";
import { openClaims } from "./jetstream.mjs";
import { noRsync, openMoved, openRsync } from "./moving.mjs";
import { hostMemory, runTime, throughput } from "./scenario.mjs";

const more = (atMost, aim) => ({ of: "p50", atMost, aim });

const noop = {
  name: "remote-noop",
  work:
    "a call whose workers run nothing: the dispatch alone; against a design with a queue in JetStream, from which " +
    "workers take offers and claim them at the caller",
  variants: ["remoteNoop", "claimNoop"],
  sizes: { full: { rounds: 20, runs: 50 }, quick: { rounds: 3, runs: 30 } },
  request: {},
  measures: [
    { ...runTime, name: "one call", bars: { claimNoop: { atMost: 1, aim: 0.5 } } },
    hostMemory,
  ],
};

const run = {
  name: "remote-run",
  work: "/bin/true on a worker, less the same in this process just before",
  variants: ["remoteRun"],
  sizes: { full: { rounds: 20, runs: 30 }, quick: { rounds: 3, runs: 20 } },
  request: {},
  measures: [
    { ...runTime, name: "what it takes more", limit: more(3, 1.5) },
    { name: "on a worker", unit: "ms", sample: (burst) => burst.thereMs },
    { name: "here", unit: "ms", sample: (burst) => burst.hereMs },
  ],
};

const session = {
  name: "remote-session",
  work: "a session's command on a worker, less one of a session in this process just before",
  variants: ["remoteSession"],
  sizes: { full: { rounds: 20, runs: 50 }, quick: { rounds: 3, runs: 30 } },
  request: {},
  measures: [{ ...runTime, name: "what it takes more", limit: more(1.2, 0.6) }],
};

const rates = {
  name: "remote-rates",
  work: "/bin/true, 64 at once: a pool on the same processors against this process alone",
  variants: ["remoteRates", "localRates"],
  sizes: { full: { rounds: 12, runs: 600 }, quick: { rounds: 3, runs: 200 } },
  request: { atOnce: 64 },
  measures: [{ ...throughput, bars: { localRates: { atLeast: 0.9, aim: 0.97 } } }],
};

const output = {
  name: "remote-output",
  work: "100 MB of a command's output, within credit; against the same bytes by a bare publish and subscribe",
  variants: ["remoteOutput", "bareOutput"],
  sizes: { full: { rounds: 10, runs: 2 }, quick: { rounds: 3, runs: 1 } },
  request: {},
  measures: [
    {
      name: "rate",
      unit: "MB/s",
      higherIsBetter: true,
      sample: (burst) => burst.runMs.map((ms) => 1e5 / ms),
      bars: { bareOutput: { atLeast: 0.5, aim: 0.8 } },
    },
  ],
};

const workspace = {
  name: "remote-workspace",
  work:
    "/bin/true in a project of 5,000 files (219 MB), 10 of which have changed: moved to the worker by content, run " +
    "there, and brought back; against the one way by rsync's daemon",
  variants: ["remoteWorkspace", "rsyncWorkspace"],
  sizes: { full: { rounds: 10, runs: 3 }, quick: { rounds: 3, runs: 1 } },
  request: {},
  measures: [
    {
      ...runTime,
      name: "without the run's own time",
      sample: (burst) => burst.movingMs,
      bars: { rsyncWorkspace: { atMost: 0.6, aim: 0.4 } },
    },
    runTime,
    { name: "the first time", unit: "ms", sample: (burst) => burst.firstMs },
  ],
};

export const scenarios = [noop, run, session, rates, output, workspace];

const kProcesses = fileURLToPath(new URL("./processes.mjs", import.meta.url));

// The dispatch alone: one call at a time of a RemoteNativeRunner whose workers run nothing.

async function openNoop({ workspace }) {
  const { RemoteNativeRunner } = await import("../../dist/adapters/remote.js");
  const broker = await openBroker();
  for (const name of ["w1", "w2"]) await broker.start(kProcesses, ["noop", broker.url, name]);
  const options = { servers: [broker.url], insecure: true, pool: "bench", workspace };
  const runner = new RemoteNativeRunner(options);
  return {
    burst: bursts(() => millisecondsOf(() => runner.exec({ argv: ["/bin/true"] }))),
    async close() {
      await runner.close();
      await broker.close();
    },
  };
}

// What a run costs more on a worker of the pool than here, one after the other: a run of a runner, or a session's.

const kTrue = { argv: ["/bin/true"] };

/** A workspace for each side, and a pool of two workers for one of them; `more` is of each one's command line. */
async function openBoth(more = []) {
  const { RemoteNativeRunner } = await import("../../dist/adapters/remote.js");
  const { BubblewrapNativeRunner } = await import("../../dist/index.js");
  const top = mkdtempSync(join(tmpdir(), "native-runner-bench-remote-"));
  for (const name of ["there", "here"]) mkdirSync(join(top, name));
  const pool = await openPool(top, { more });
  const remote = new RemoteNativeRunner({ ...pool.options, workspace: join(top, "there") });
  const local = new BubblewrapNativeRunner({ shadowDir: join(top, "here") });
  return {
    remote,
    local,
    async close() {
      await Promise.all([remote.close(), local.close()]);
      await pool.close();
      rmSync(top, { recursive: true, force: true });
    },
  };
}

async function openRun({ isSession = false }) {
  const { remote, local, close } = await openBoth();
  const there = isSession ? await remote.openSession() : remote;
  const here = isSession ? await local.openSession() : local;
  let took = { thereMs: [], hereMs: [] };
  const step = async () => {
    const hereMs = await millisecondsOf(() => here.exec(kTrue));
    const thereMs = await millisecondsOf(() => there.exec(kTrue));
    took.thereMs.push(thereMs);
    took.hereMs.push(hereMs);
    return thereMs - hereMs;
  };
  const more = () => {
    const last = took;
    took = { thereMs: [], hereMs: [] };
    return last;
  };
  return { burst: bursts(step, more), close };
}

// Runs a second with many at once, on a pool of this machine's own processors or in this process.

/** All 64 of them run at once there too. */
const kSlots = ["--slots", "32"];

async function openRates({ where }) {
  const { [where]: runner, close } = await openBoth(kSlots);
  return {
    async burst({ runs, atOnce }) {
      let left = runs;
      const runMs = [];
      const one = async () => {
        while (left-- > 0) {
          const from = performance.now();
          const { exitCode } = await runner.exec(kTrue);
          if (exitCode !== 0) throw new Error(`/bin/true ended with ${exitCode}`);
          runMs.push(performance.now() - from);
        }
      };
      const from = performance.now();
      await Promise.all(Array.from({ length: atOnce }, one));
      return { runMs, wallMs: performance.now() - from };
    },
    close,
  };
}

// 100 MB that a command writes, read as they come; and the same bytes by publish and subscribe alone, in messages of
// 192 KiB. Each run is one transfer.

const kBytes = 100_000_000;

async function openOutput() {
  const { remote, close } = await openBoth();
  const argv = ["head", "-c", String(kBytes), "/dev/zero"];
  const one = async () => {
    const live = await remote.spawn({ argv });
    let bytes = 0;
    for await (const chunk of live.stdout) bytes += chunk.length;
    const { outcome } = await live.result;
    if (bytes !== kBytes) throw new Error(`${bytes} bytes came, ${outcome.kind}`);
  };
  return { burst: bursts(() => millisecondsOf(one)), close };
}

async function openBareOutput() {
  const { connect } = await import("@nats-io/transport-node");
  const broker = await openBroker();
  const connection = await connect({ servers: broker.url });
  let bytes = 0;
  let done = () => {};
  connection.subscribe("bytes", {
    callback: (_error, { data }) => {
      bytes += data.length;
      if (bytes >= kBytes) done();
    },
  });
  await connection.flush();
  await broker.start(kProcesses, ["publisher", broker.url, String(kBytes)]);
  const one = async () => {
    bytes = 0;
    const all = new Promise((resolve) => {
      done = resolve;
    });
    connection.publish("go");
    await all;
  };
  return {
    burst: bursts(() => millisecondsOf(one)),
    async close() {
      await connection.close();
      await broker.close();
    },
  };
}

export const variants = {
  remoteNoop: { title: "our dispatch", kind: "ours", missing: noBroker, open: openNoop },
  claimNoop: { title: "JetStream and claims", kind: "floor", missing: noBroker, open: openClaims },
  remoteRun: { title: "on a worker", kind: "ours", missing: noBroker, open: openRun },
  remoteSession: {
    title: "a session on a worker",
    kind: "ours",
    missing: noBroker,
    open: openRun,
    options: { isSession: true },
  },
  remoteRates: {
    title: "a pool",
    kind: "ours",
    missing: noBroker,
    open: openRates,
    options: { where: "remote" },
  },
  localRates: {
    title: "this process",
    kind: "floor",
    missing: noBroker,
    open: openRates,
    options: { where: "local" },
  },
  remoteOutput: { title: "our output", kind: "ours", missing: noBroker, open: openOutput },
  bareOutput: {
    title: "publish and subscribe",
    kind: "floor",
    missing: noBroker,
    open: openBareOutput,
  },
  remoteWorkspace: {
    title: "moved by content, and run",
    kind: "ours",
    missing: noBroker,
    open: openMoved,
  },
  rsyncWorkspace: {
    title: "rsync's daemon",
    kind: "floor",
    missing: noRsync,
    open: openRsync,
  },
};
