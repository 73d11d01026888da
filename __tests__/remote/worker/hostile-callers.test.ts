/** Whatever a caller sends, a worker keeps no more of it than its documented figures. */

import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { Attachments, SeenRuns } from "../../../lib/remote/worker/attachment.js";
import { Output, StdinBuffer } from "../../../lib/remote/worker/streams.js";
import type { SandboxedExecResult } from "../../../types/public.js";
import { workerWorld } from "../../support/remote/worker-world.js";
import { eventually } from "../../support/waits.js";

const kMiB = 1024 ** 2;
const never = () => new Promise<never>(() => {});

describe("credit", () => {
  test("beyond the window counts as the window", () => {
    let sent = 0;
    const output = new Output(2 ** 40, (_stream, _at, bytes) => {
      sent += bytes.length;
    });
    output.grant(1, Number.MAX_SAFE_INTEGER);
    for (let at = 0; at < 8; at += 1) output.push(1, new Uint8Array(kMiB));
    expect(sent).toBe(kMiB);
    output.grant(1, kMiB); // the control
    expect(sent).toBe(2 * kMiB);
  });

  test("of a caller that confirms nothing ends its run", async () => {
    let push = (_bytes: Uint8Array) => {};
    let isAborted = false;
    const { connection, grant, says, worker } = workerWorld({
      exec: (input) => {
        push = (bytes) => input.onStdout?.(bytes);
        return new Promise<SandboxedExecResult>((_resolve, reject) => {
          input.signal?.addEventListener("abort", () => {
            isAborted = true;
            reject(new Error("aborted"));
          });
        });
      },
    });
    grant(1, { isLive: true, credit: 2 ** 40 });
    await turn();
    for (let at = 0, seq = 0; at < 64 && !isAborted; at += 1) {
      push(new Uint8Array(kMiB));
      says({
        t: "credit",
        caller: "k",
        run: 1,
        seq: ++seq,
        ack: 0,
        stream: 1,
        bytes: kMiB,
      } as never);
    }
    await turn();
    const bytes = connection.all("out").reduce((sum, { body }) => sum + body.length, 0);
    expect(isAborted).toBe(true);
    expect(bytes).toBeLessThanOrEqual(18 * kMiB);
    expect(worker.state().excesses).toBeGreaterThan(0);
    await worker.stop();
  });
});

describe("standard input", () => {
  test("that is announced as longer than a worker takes is refused, and other input is not", async () => {
    const seen: number[] = [];
    const { connection, grant, worker } = workerWorld(
      {
        exec: async ({ stdin }) => {
          seen.push(stdin?.length ?? -1);
          throw new Error("ran");
        },
      },
      { mostStdinBytes: 10 },
    );
    grant(1, { stdinBytes: 11 }, new Uint8Array(11));
    grant(2, { stdinBytes: 10 }, new Uint8Array(10));
    await eventually("both ended", () => connection.all("end").length === 2);
    const ends = connection.all("end").map(({ header }) => header.error);
    expect(ends).toMatchObject([
      { name: "RangeError", message: /`stdin`.*10 bytes/ },
      { message: "ran" },
    ]);
    expect(seen).toEqual([10]);
    await worker.stop();
  });

  test("takes the room that it needs, in however many parts it comes", async () => {
    const buffer = new StdinBuffer(1_000, new Uint8Array(0), () => {});
    const message = Buffer.alloc(kMiB, 7);
    for (let at = 0; at < 2_000; at += 1) buffer.add(message.subarray(at, at + 1));
    const whole = await buffer.whole;
    expect(whole).toHaveLength(1_000);
    expect(whole?.buffer.byteLength).toBeLessThanOrEqual(64 * 1024);
  });

  test("that never comes ends the wait for it", async () => {
    const absent = new StdinBuffer(1_000, new Uint8Array(0), () => {}, 20);
    await expect(absent.whole).rejects.toThrow("0 of 1000 bytes");
  });

  test("beyond the window ends the run", async () => {
    let isAborted = false;
    const { grant, says, worker } = workerWorld({
      exec: never,
      spawn: ({ signal }) =>
        new Promise((_resolve, reject) => {
          signal?.addEventListener("abort", () => {
            isAborted = true;
            reject(new Error("aborted"));
          });
        }),
    });
    grant(1, { kind: "spawn" });
    await turn();
    const input = (seq: number) => ({ t: "input", caller: "k", run: 1, seq, ack: 0 });
    for (let seq = 1; seq <= 8; seq += 1) says(input(seq), new Uint8Array(128 * 1024));
    await turn();
    expect(isAborted).toBe(false); // the control: a full window
    says(input(9), new Uint8Array(1));
    await turn();
    expect(isAborted).toBe(true);
    await worker.stop();
  });
});

test("output that is never taken does not hold a run that has ended", async () => {
  const output = new Output(4, () => {}, 20);
  output.push(1, new Uint8Array(kMiB));
  expect(await output.rest()).toEqual([Buffer.alloc(0), Buffer.alloc(0)]);
  expect(output.reported).toEqual({ sent: [kMiB, 0], isCut: true });
});

test("operations at once are bounded, and those within the bound are answered", async () => {
  let ended = () => {};
  const { connection, grant, says, worker } = workerWorld({
    openSession: async () =>
      ({
        layers: [],
        shares: [],
        ended: new Promise((resolve) => {
          ended = () => resolve("it was closed");
        }),
        close: async () => ended(),
        waitForPort: never,
      }) as never,
  });
  grant(1, { kind: "session", input: {} });
  await eventually("begun", () => connection.all("began").length === 1);
  for (let seq = 1; seq <= 65; seq += 1) {
    const call = { seq, ack: 0, call: seq, operation: "waitForPort", args: [1] };
    says({ t: "call", caller: "k", run: 1, ...call } as never);
  }
  await eventually("ended", () => connection.all("end").length > 0);
  expect(worker.state().excesses).toBe(1);
  await worker.stop();
});

test("ends that are not confirmed keep further runs from starting, until they are", () => {
  const attachments = new Attachments();
  const one = attachments.of("a", "k", 0);
  const other = attachments.of("b", "k", 0);
  for (let run = 0; run < 4; run += 1) {
    expect(one?.owesReceipts).toBe(false);
    one?.ended(run, { say: () => {}, saidAt: 0, bytes: 8 * kMiB });
  }
  expect([one?.owesReceipts, attachments.of("a", "l", 0)?.owesReceipts]).toEqual([true, true]);
  expect(other?.owesReceipts).toBe(false);
  one?.forget(0);
  expect(one?.owesReceipts).toBe(false);
});

test("runs that are asked about without end are not all remembered, and none of them is declined then", () => {
  const seen = new SeenRuns();
  for (let run = 0; run < 65_536; run += 1) expect(seen.refuse(run, 1)).toBe(true);
  expect(seen.refuse(70_000, 1)).toBe(false);
  expect(seen.isNew(70_001, 1)).toBe(false);
  seen.settled(10); // the control: room comes back
  expect(seen.refuse(70_000, 1)).toBe(true);
  expect(seen.isNew(70_000, 1)).toBe(false);
  expect(seen.isNew(70_000, 2)).toBe(true);
});
