// A host whose command takes all of a pool, while others of its runs go on: how each of them ended, as JSON.
//   shared-pools.mjs {"pool": NAME, "most": N, "probe": PROGRAM, "directory": DIRECTORY, "limits": {}, "kinds": [KIND...]}

import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, mkdtempSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { Worker } from "node:worker_threads";

import { BubblewrapNativeRunner, Bwrap } from "../../../dist/index.js";

const given = JSON.parse(process.argv[2]);
const made = (name) => mkdtempSync(join(given.directory, `${name}-`));
const argv = ["sh", "-c", "echo text > /tmp/a && cat /tmp/a | cat"];

const told = ({ outcome, exitCode }) =>
  outcome.kind === "exited" ? `exited ${exitCode}` : outcome;

async function withRunner(options, work) {
  const runner = new BubblewrapNativeRunner({ shadowDir: made("work"), prewarm: 0, ...options });
  try {
    return await work(runner);
  } finally {
    await runner.close();
  }
}

const kinds = {
  cold: () => withRunner({ clone: "never" }, async (runner) => told(await runner.exec({ argv }))),
  cloned: () =>
    withRunner({}, async (runner) => {
      for (let tries = 0; ; tries++) {
        const result = await runner.exec({ argv });
        if (result.audits[0]?.start === "cloned" || tries === 20) return told(result);
      }
    }),
  prewarmed: () =>
    withRunner({ prewarm: 1 }, async (runner) => {
      await runner.warm();
      return told(await runner.exec({ argv }));
    }),
  session: () =>
    withRunner({}, async (runner) => told(await (await runner.openSession()).exec({ argv }))),
  terminal: () =>
    withRunner({}, async (runner) => {
      const process = await runner.spawn({ argv, pty: { cols: 80, rows: 24 } });
      process.stdout.resume();
      return told(await process.result);
    }),
  transaction: () =>
    withRunner({}, async (runner) => {
      const transaction = await runner.openTransaction({ directory: made("state") });
      const result = await transaction.exec({ argv: ["sh", "-c", "echo a > new"] });
      const changed = (await transaction.changes()).map(({ path }) => path).join();
      await transaction.discard();
      return changed === "new" ? told(result) : `changed: ${changed}`;
    }),
  network: () =>
    withRunner({ network: { allow: ["a.test"] } }, async (runner) =>
      told(await runner.exec({ argv })),
    ),
  project: async () =>
    (await new Bwrap(made("project")).exec("echo text")) === "text\n" ? "exited 0" : "no text",
  // What Node does by itself: sockets, a child, a thread with an event loop of its own.
  host: async () => {
    const server = createServer((socket) => socket.end("text")).listen(0, "127.0.0.1");
    await once(server, "listening");
    const client = connect(server.address().port, "127.0.0.1").resume();
    await once(client, "close");
    server.close();
    const [code] = await once(spawn("true"), "exit");
    const worker = new Worker("require('worker_threads').parentPort.postMessage(1)", {
      eval: true,
    });
    await once(worker, "exit");
    return `exited ${code}`;
  },
};

async function tryAll(names) {
  const ends = {};
  for (const name of names) {
    ends[name] = await kinds[name]().catch(({ code, message, fix }) => ({
      code,
      reason: message,
      fix,
    }));
  }
  return ends;
}

const shadowDir = made("work");
copyFileSync(given.probe, join(shadowDir, "probe"));
mkdirSync(join(shadowDir, "sub"));
await withRunner({ shadowDir }, async (runner) => {
  const command = ["./probe", "exhaust", given.pool, String(given.most)];
  const taker = await runner.spawn({ argv: command, limits: given.limits });
  const [line] = await once(taker.stdout, "data");
  const while_ = await tryAll(given.kinds);
  taker.stdin.end();
  const took = told(await taker.result);
  const after = await tryAll(["cold"]);
  process.stdout.write(JSON.stringify({ taken: String(line).trim(), took, while: while_, after }));
});
