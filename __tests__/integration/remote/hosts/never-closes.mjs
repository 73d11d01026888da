/**
 * A host that uses a remote runner, and mostly never closes it: a process, or a thread of one. Writes what it has seen,
 * a line each; when it ends is what is tested.
 */

import { setTimeout as delay } from "node:timers/promises";
import { workerData } from "node:worker_threads";

import { RemoteNativeRunner } from "../../../../dist/adapters/remote.js";

const { url, way, workspace } = workerData ?? JSON.parse(process.argv[2] ?? "{}");
const say = (text) => process.stdout.write(`${text}\n`);
const open = () => {
  return new RemoteNativeRunner({ servers: [url], insecure: true, pool: "tests", workspace });
};
const runner = open();
const argv = ["sh", "-c", "sleep 0.5; echo ran"];

const ways = {
  async nothing() {},
  async exec() {
    say((await runner.exec({ argv })).stdoutText);
  },
  async several() {
    const results = await Promise.all([1, 2, 3].map(() => runner.exec({ argv })));
    for (const { stdoutText } of results) say(stdoutText);
  },
  async spawn() {
    const live = await runner.spawn({ argv: ["cat"] });
    live.stdout.on("data", (bytes) => say(bytes));
    live.stdin.end("ran");
    await live.result;
  },
  /** Nobody awaits it: what runs is waited for all the same. */
  async "spawn, left alone"() {
    const live = await runner.spawn({ argv });
    live.stdout.on("data", (bytes) => say(bytes));
  },
  async session() {
    const session = await runner.openSession();
    say((await session.exec({ argv })).stdoutText);
  },
  async "session, two at once"() {
    const session = await runner.openSession();
    const results = await Promise.all([session.exec({ argv }), session.exec({ argv })]);
    for (const { stdoutText } of results) say(stdoutText);
  },
  async "session, closed"() {
    const session = await runner.openSession();
    await session.close();
    say(`ran until ${await session.ended}`);
  },
  async transaction() {
    const transaction = await runner.openTransaction();
    await transaction.exec({ argv: ["touch", "made"] });
    for (const { path } of await transaction.changes()) say(`ran, ${path}`);
  },
  async "transaction, discarded"() {
    const transaction = await runner.openTransaction();
    await transaction.discard();
    say("ran");
  },
  /** What comes after a close is done too, though nothing else holds the process. */
  async "a close"() {
    await runner.exec({ argv });
    await runner.close();
    say("ran");
  },
  async "a close of a session and a runner"() {
    const session = await runner.openSession();
    await session.exec({ argv });
    await session.close();
    await runner.close();
    await open().close(); // one that was never used
    say("ran");
  },
  async abort() {
    const { outcome } = await runner.exec({
      argv: ["sleep", "60"],
      signal: AbortSignal.timeout(500),
    });
    say(`ran, ${outcome.kind}`);
  },
  /** Says so, and is idle while its broker goes. */
  async "idle without a broker"() {
    await runner.exec({ argv });
    say("idle");
    await delay(3_000);
    say("ran");
  },
};

await ways[way]();
