/** Frames of any shape, 20,000 to each side: neither ends nor grows, and what is honest is served. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";

import { RemoteNativeRunner } from "../../../lib/adapters/remote.js";
import { BrokerAccess } from "../../../lib/remote/broker/broker-access.js";
import { Connection } from "../../../lib/remote/broker/connection.js";
import { freeSubject, fromWorkerSubject, wantSubject } from "../../../lib/remote/subjects.js";
import { encodeFrame, Inbox } from "../../../lib/remote/wire/frame.js";
import {
  type NatsServer,
  startNatsServer,
  whyNoNatsServer,
} from "../../integration/remote/support/nats-server.js";
import { startWorker, type TestWorker } from "../../integration/remote/support/worker.js";
import { HandCaller } from "../../integration/remote/wire/hand-caller.js";
import { describeUnless, whyNoBubblewrap } from "../../integration/support/requirements.js";
import { tempDirectory } from "../../integration/support/temp.js";
import { framesOf } from "../../support/remote/frames-of.js";
import { eventually } from "../../support/waits.js";
import { randomOf, seedOf } from "../transactions/random.js";

type Random = () => number;
type Header = { t: string } & Record<string, unknown>;

/** To each side; NATIVE_RUNNER_FRAMES asks for other numbers. */
const kFrames = Number(process.env.NATIVE_RUNNER_FRAMES ?? 20_000);
const kInOneTurn = 100;
const kMostGrowth = 256 * 1024 ** 2;
const kPool = "tests";
const kTenant = "default";

/** The broker takes twice as much in one message; a longer frame is cut off. */
const kMostBytes = 2 ** 19;

const below = (random: Random, end: number) => Math.floor(random() * end);
const oneOf = <T>(random: Random, all: readonly T[]) => all[below(random, all.length)] as T;

function deep(): unknown {
  let value: unknown = 1;
  for (let level = 0; level < 200; level += 1) value = [value];
  return value;
}

const kOdd: readonly unknown[] = [
  ...[
    undefined,
    null,
    true,
    -1,
    0,
    0.5,
    1,
    2 ** 31,
    2 ** 53,
    1e308,
    "",
    "x",
    "\0",
    ">",
    "a.b",
    "__proto__",
  ],
  ...["x".repeat(70_000), [], [[0, 0]], [null], Array.from({ length: 5000 }, () => 1), {}, deep()],
  ...[
    { $number: "NaN" },
    { $number: {} },
    { $bytes: "?" },
    { toString: 1, valueOf: 1 },
    JSON.parse('{"__proto__":1}'),
  ],
];

/** A copy with one of its values, at any depth, replaced or left out. */
function mutated(random: Random, value: unknown): unknown {
  if (typeof value !== "object" || value === null || random() < 0.2) return oneOf(random, kOdd);
  const copy = (Array.isArray(value) ? [...value] : { ...value }) as Record<string, unknown>;
  const keys = Object.keys(copy);
  if (keys.length === 0) return oneOf(random, kOdd);
  const key = oneOf(random, keys);
  copy[key] = mutated(random, copy[key]);
  return copy;
}

/** The bytes of a message: mostly whole, with a wrong value or two, or as it should be. */
function bytesOf(random: Random, header: Header): Uint8Array {
  let said: unknown = header;
  for (let left = below(random, 3); left > 0; left -= 1) {
    const { t, ...rest } = said as Header;
    said = random() < 0.95 ? { ...(mutated(random, rest) as object), t } : mutated(random, said);
    if (typeof said !== "object" || said === null) break;
  }
  const body = Buffer.alloc(below(random, random() < 0.05 ? 65_536 : 256), "b");
  const frame = Buffer.concat(encodeFrame((said ?? null) as Header, body)).subarray(0, kMostBytes);
  const how = random();
  if (how < 0.04) return frame.subarray(0, below(random, frame.length));
  if (how < 0.08) return Buffer.concat([frame, frame]);
  if (how < 0.12) frame[below(random, frame.length)] = below(random, 256);
  return frame;
}

const pieceOf = (random: Random): Header => ({
  t: "piece",
  from: oneOf(random, ["a", "b", "c"]),
  piece: below(random, 4),
  at: oneOf(random, [0, 0, 256, 1024]),
  isLast: random() < 0.3,
});

const rssOf = (pid: number) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) * 1024;

describeUnless(whyNoNatsServer ?? whyNoBubblewrap, `${kFrames} frames of any shape`, () => {
  let server: NatsServer;
  let worker: TestWorker;
  const runners: RemoteNativeRunner[] = [];
  beforeAll(async () => {
    server = await startNatsServer();
    worker = await startWorker({ server: server.url, pool: kPool, policy: { prewarm: 0 } });
  }, 120_000);
  afterAll(() => Promise.all(runners.map((runner) => runner.close())));

  const runnerOf = () => {
    const broker = { servers: [server.url], insecure: true };
    const runner = new RemoteNativeRunner({ ...broker, pool: kPool, workspace: tempDirectory() });
    runners.push(runner);
    return runner;
  };
  const six = { argv: ["sh", "-c", "echo $((6*7))"] };
  const outputOf = async (runner: RemoteNativeRunner) =>
    Buffer.from((await runner.exec(six)).stdout).toString();

  test("a worker hears: it serves others, starts nothing twice, and does not grow", async () => {
    const seed = seedOf();
    const random = randomOf(seed);
    const honest = runnerOf();
    const workspace = tempDirectory();
    const hand = await HandCaller.open(server.url);
    let { worker: id, lease } = await hand.invited(4);
    const made = (): Header => {
      const to = { caller: hand.id, run: 1 + below(random, 40) };
      const channel = { ...to, seq: below(random, 20), ack: below(random, 20) };
      const input = { argv: ["sh", "-c", `echo ${to.run} >> starts`] };
      const kind = oneOf(random, [
        "exec",
        "spawn",
        "batch",
        "session",
        "transaction",
        "explain",
      ] as const);
      const attempt = 1 + below(random, 3);
      return oneOf<() => object>(random, [
        () => ({ ...hand.grant(to.run, attempt, { lease, workspace, input, kind }) }),
        () => ({
          ...hand.grant(to.run, attempt, { lease, workspace, input }),
          stdinBytes: below(random, 1000),
        }),
        () => ({ t: "none", caller: hand.id }),
        () => ({ t: "abort", ...to }),
        () => ({ t: "input", ...channel }),
        () => ({ t: "inputEnd", ...channel }),
        () => ({ t: "credit", ...channel, stream: 1, bytes: below(random, 2 ** 20) }),
        () => ({ t: "outputClosed", ...channel, stream: 2 }),
        () => ({
          t: "call",
          ...channel,
          call: below(random, 5),
          operation: oneOf(random, ["changes", "resize", "end", "constructor"]),
          args: [],
        }),
        () => ({
          t: "port",
          ...channel,
          header: { t: oneOf(random, ["tree", "file", "end"]), n: 1 },
        }),
        () => ({ t: "portTaken", ...channel, n: below(random, 100) }),
        () => ({ t: "probe", ...to, attempt }),
        () => ({
          t: "echo",
          caller: hand.id,
          at: 1,
          saidAt: 1,
          receipts: [[to.run, 1]],
          ended: [to.run],
          oldest: 0,
        }),
        () => pieceOf(random),
      ])() as Header;
    };
    let before = 0;
    for (let sent = 0; sent < kFrames; sent += kInOneTurn) {
      for (let at = 0; at < kInOneTurn; at += 1) hand.throw(id, bytesOf(random, made()));
      await nextTurn();
      if (sent % 2000 > 0) continue;
      expect(await outputOf(honest), `seed ${seed}`).toBe("42\n");
      ({ worker: id, lease } = await hand.invited(4)); // the one before has ended without an echo
      if (sent === 2000) before = rssOf(worker.pid);
    }
    await hand.close();
    expect(await outputOf(honest), `seed ${seed}`).toBe("42\n");
    if (kFrames > 2000)
      expect(rssOf(worker.pid) - before, `seed ${seed}`).toBeLessThan(kMostGrowth);
    const started = readFileSync(join(workspace, "starts"), "utf8").trim().split("\n");
    expect(new Set(started).size, `seed ${seed}: ${started}`).toBe(started.length);
    expect(worker.log(), `seed ${seed}`).not.toMatch(/Error|at .*\.js:/);
  }, 600_000);

  test("a caller hears from a worker: each run settles, others are served, and it does not grow", async () => {
    const seed = seedOf();
    const random = randomOf(seed);
    const runner = runnerOf();
    const evil = new Connection(new BrokerAccess({ servers: [server.url], insecure: true }));
    evil.hold();
    await evil.open();
    const inbox = new Inbox();
    const callers = new Set<string>();
    for (const subject of [wantSubject(kPool, kTenant), freeSubject(kPool, kTenant)]) {
      evil.subscribe(subject, ({ data }) => {
        for (const { header } of framesOf(inbox, data))
          callers.add((header as { caller: string }).caller);
      });
    }
    const made = (): Header => {
      const to = { worker: "evil.1", run: below(random, 200) };
      const channel = { ...to, seq: below(random, 20), ack: below(random, 20) };
      const slots = { free: below(random, 3), lease: below(random, 3) + 1, pool: kPool };
      const call = below(random, 5);
      return oneOf<() => object>(random, [
        () => ({
          t: "pull",
          worker: "evil.1",
          pool: kPool,
          n: below(random, 2),
          lease: slots.lease,
        }),
        () => ({ t: "decline", ...to, attempt: 1 + below(random, 3), why: "busy" }),
        () => ({ t: "began", ...channel, value: {} }),
        () => ({ t: "out", ...channel, stream: 1, at: below(random, 1000) }),
        () => ({ t: "keptFollows", ...channel }),
        () => ({ t: "taken", ...channel, bytes: below(random, 1000) }),
        () => ({ t: "inputClosed", ...channel }),
        () => ({
          t: "end",
          ...to,
          ...slots,
          attempt: 1,
          value: { exitCode: 0 },
          sent: [0, 0],
          rest: [1, 1],
        }),
        () => ({
          t: "end",
          ...to,
          ...slots,
          attempt: 1,
          error: { name: "Error", message: "x" },
          sent: [0, 0],
          rest: [],
        }),
        () => ({ t: "answer", ...channel, call, value: {} }),
        () => ({ t: "port", ...channel, header: { t: "file" } }),
        () => ({ t: "portTaken", ...channel, n: below(random, 100) }),
        () => ({
          t: "beat",
          worker: "evil.1",
          ...slots,
          at: 1,
          heard: 1,
          receipts: [[to.run, 1]],
          runs: [to.run],
        }),
        () => pieceOf(random),
      ])() as Header;
    };
    const settled = { fulfilled: 0, rejected: 0 };
    const pending = new Set<Promise<void>>();
    const keepRunning = () => {
      while (pending.size < (callers.size > 0 ? 8 : 16)) {
        const one = runner
          .exec({ ...six, limits: { timeoutMs: 2000 } })
          .then(
            () => void settled.fulfilled++,
            () => void settled.rejected++,
          )
          .finally(() => pending.delete(one));
        pending.add(one);
      }
    };
    await eventually("the caller asks", () => {
      keepRunning();
      return callers.size > 0;
    });
    let before = 0;
    for (let sent = 0; sent < kFrames; sent += kInOneTurn) {
      keepRunning();
      for (let at = 0; at < kInOneTurn; at += 1) {
        const to = fromWorkerSubject(kTenant, oneOf(random, [...callers]), kPool, "evil.1");
        evil.publish(to, bytesOf(random, made()));
      }
      await nextTurn();
      if (sent === 2000) before = process.memoryUsage().rss;
    }
    await evil.close();
    evil.release();
    await eventually(
      () => `${pending.size} runs have settled`,
      () => pending.size === 0,
    );
    for (let again = 0; again < 20; again += 1) {
      expect(await outputOf(runner), `seed ${seed}`).toBe("42\n");
    }
    process.stdout.write(`runs among the frames (seed ${seed}): ${JSON.stringify(settled)}\n`);
    expect(settled.fulfilled, `seed ${seed}`).toBeGreaterThan(0);
    if (kFrames > 2000)
      expect(process.memoryUsage().rss - before, `seed ${seed}`).toBeLessThan(kMostGrowth);
  }, 600_000);
});
