// A host with sessions that comes to an end, or lets go of them: HOW WORKSPACE.
//   exit: in mid-run; idle: nothing runs, and nothing keeps it; wait: says "ready", to be killed.
//   collect: the runners are dropped, and collected; drop: only the sessions.
//   orphan: where no pid namespace can be had, the session's launcher is killed in mid-run, while
//     the one that stands for the next command is stopped.
//   worker: a worker with sessions is ended in mid-run; opening: it exits while they are opened.
//   tell: a Landlock session's layers, and what a command in it has printed.
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { LandlockNativeRunner } from "../../../dist/index.js";
import { BubblewrapNativeRunner, leftovers, say } from "./common.mjs";

const [how, shadowDir] = isMainThread ? process.argv.slice(2) : ["busy", workerData];
const isThere = process.env.WITHOUT_LANDLOCK === undefined;

const makeRunners = () => [
  new BubblewrapNativeRunner({ shadowDir, prewarm: 0 }),
  ...(isThere ? [new LandlockNativeRunner({ shadowDir })] : []),
];
const argv = ["sh", "-c", "(setsid sleep 1000 &) & echo started; sleep 1000"];

function parentOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    return Number(text.slice(text.lastIndexOf(")") + 2).split(" ")[1]);
  } catch {
    return 0; // gone, or no process
  }
}

const childrenOf = (parent) =>
  readdirSync("/proc")
    .map(Number)
    .filter((pid) => pid > 0 && parentOf(pid) === parent);

/** The process that waits for the next command: it alone has no child. */
async function standingOf(launcher) {
  for (let left = 1000; left > 0; left -= 1) {
    const alone = childrenOf(launcher).filter((pid) => childrenOf(pid).length === 0);
    if (alone.length === 1) return alone[0];
    await delay(10);
  }
  throw new Error("no launcher stands");
}

/** Opens sessions, and has a command run in each. */
async function begin(runners = makeRunners()) {
  const sessions = await Promise.all(runners.map((runner) => runner.openSession({ shell: true })));
  await Promise.all(
    sessions.map(
      (session) =>
        new Promise((started) => {
          session.exec({ argv, onStdout: started }).catch(() => {});
        }),
    ),
  );
  return sessions;
}

async function waitUntilGone() {
  for (let left = 1000; left > 0 && leftovers().length > 0; left -= 1) {
    globalThis.gc();
    await delay(10);
  }
  return leftovers().length;
}

const openAndRun = async (runners) => {
  for (const runner of runners) {
    const session = await runner.openSession({ idleTimeoutMs: Number.POSITIVE_INFINITY });
    await session.exec({ argv: ["true"] });
    void session.ended.then(() => {});
  }
  return leftovers().length > 0;
};

const kEnds = {
  exit: async () => {
    await begin();
    process.exit(7);
  },
  opening: async () => {
    for (const runner of makeRunners()) runner.openSession().catch(() => {});
    await delay(5);
    process.exit(7);
  },
  idle: async () => {
    for (const runner of makeRunners()) {
      const session = await runner.openSession();
      await session.exec({ argv: ["true"] });
      void session.ended.then(() => say("ended"));
    }
    say("last");
  },
  wait: async () => {
    await begin();
    say("ready");
    await delay(1_000_000);
  },
  collect: async () => say([await openAndRun(makeRunners()), await waitUntilGone()]),
  drop: async () => {
    const runners = makeRunners();
    say([await openAndRun(runners), await waitUntilGone()]);
    for (const runner of runners) await runner.close();
  },
  orphan: async () => {
    const session = await new LandlockNativeRunner({ shadowDir }).openSession();
    const runs = Array.from({ length: 3 }, () => {
      let run;
      return [
        new Promise((started) => {
          run = session.exec({ argv, onStdout: started });
        }),
        run,
      ];
    });
    await Promise.all(runs.map(([started]) => started));
    const [launcher] = childrenOf(process.pid);
    process.kill(await standingOf(launcher), "SIGSTOP"); // it can't see by itself that it is alone
    process.kill(launcher, "SIGKILL");
    const kinds = (await Promise.all(runs.map(([, run]) => run))).map(
      ({ outcome }) => outcome.kind,
    );
    const alive = setInterval(() => {}, 1000); // `ended` does not keep us
    const reason = await session.ended;
    clearInterval(alive);
    say({ layers: session.layers, kinds, reason, left: leftovers() });
  },
  tell: async () => {
    const runner = new LandlockNativeRunner({ shadowDir });
    const session = await runner.openSession({ shell: true });
    await session.exec({ argv: ["sh", "-c", "mkdir -p in && cd in"] });
    const { stdoutText } = await session.exec({ argv: ["sh", "-c", "basename $PWD"] });
    await session.close();
    await runner.close();
    say({ layers: session.layers, said: stdoutText.trim(), left: leftovers().length });
  },
  busy: async () => {
    await begin();
    parentPort.postMessage("up");
    await delay(1_000_000);
  },
  worker: async () => {
    for (let turn = 0; turn < 3; turn += 1) {
      const worker = new Worker(new URL(import.meta.url), { workerData: shadowDir });
      await new Promise((up) => worker.once("message", up));
      await worker.terminate();
      say(leftovers().length);
    }
  },
};

await kEnds[how]();
