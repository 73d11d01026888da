/** Outbox and inbox together: what goes in comes out, in order, whatever its size; and bounded, whoever sends. */

import { setImmediate as turn } from "node:timers/promises";

import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { encodeFrame, Inbox, Outbox, WireError } from "../../../lib/remote/wire/frame.js";
import { framesOf } from "../../support/remote/frames-of.js";

type Sent = { subject: string; message: Uint8Array; reply: string | undefined };

/** The broker's own default for a message. */
const kMaxPayload = 1024 ** 2;
const kMiB = 1024 ** 2;

function outbox(from = "me") {
  const sent: Sent[] = [];
  const box = new Outbox(from, (subject, message, reply) => sent.push({ subject, message, reply }));
  return { sent, box };
}

/** Lengths around each bound of the wire. */
const length = fc.oneof(
  fc.nat(2_000),
  fc.constantFrom(128, 192, 256, 512, 1024).chain((kib) => {
    return fc.integer({ min: -100, max: 100 }).map((more) => kib * 1024 + more);
  }),
);

describe("what is said", () => {
  test("comes to each subject in order and whole, in messages that the broker takes", async () => {
    const frames = fc.array(
      fc.record({ to: fc.constantFrom("a", "b"), length, isLater: fc.boolean() }),
      {
        maxLength: 12,
      },
    );
    await fc.assert(
      fc.asyncProperty(frames, async (all) => {
        const { sent, box } = outbox();
        for (const [n, { to, length: bytes, isLater }] of all.entries()) {
          box.send(to, { t: `${n}` }, Buffer.alloc(bytes, n));
          if (isLater) await turn();
        }
        box.flush();
        const inboxes = { a: new Inbox(), b: new Inbox() };
        const got: Record<string, string[]> = { a: [], b: [] };
        for (const { subject, message } of sent) {
          expect(message.length).toBeLessThan(kMaxPayload);
          for (const { header, body } of framesOf(inboxes[subject as "a" | "b"], message)) {
            const { t } = header as { t: string };
            expect(Buffer.alloc(body.length, Number(t)).equals(body)).toBe(true);
            got[subject]?.push(`${t} ${body.length}`);
          }
        }
        for (const name of ["a", "b"]) {
          const wanted = [...all.entries()].filter(([, { to }]) => to === name);
          expect(got[name]).toEqual(wanted.map(([n, each]) => `${n} ${each.length}`));
        }
      }),
      { numRuns: 30 },
    );
  });

  test("within a turn is one message; its reply is made when it goes", async () => {
    const { sent, box } = outbox();
    let replies = 0;
    const reply = () => `reply ${++replies}`;
    for (let n = 0; n < 100; n += 1) box.send("a", { t: `${n}` }, undefined, reply);
    expect(sent).toEqual([]);
    await turn();
    expect(sent.map(({ reply: reported }) => reported)).toEqual(["reply 1"]);
    expect(framesOf(new Inbox(), sent[0]?.message ?? Buffer.alloc(0))).toHaveLength(100);
  });

  test("beside what is none, or nobody takes, is not lost with it", () => {
    const { sent, box } = outbox();
    for (const t of ["first", "piece", "newer", "last"]) box.send("a", { t });
    box.flush();
    const got: string[] = [];
    const refused: string[] = [];
    new Inbox().receive(
      sent[0]?.message ?? Buffer.alloc(0),
      ({ header }) => {
        const { t } = header as { t: string };
        if (t === "newer") throw new WireError("nobody knows it");
        got.push(t);
      },
      ({ message }) => refused.push(message),
    );
    expect(got).toEqual(["first", "last"]);
    expect(refused).toEqual(["a piece of a frame is none", "nobody knows it"]);
  });

  test("that its taker fails at is not taken for one that is none", () => {
    const { sent, box } = outbox();
    box.send("a", { t: "x" });
    box.flush();
    const fail = () => {
      throw new TypeError("a fault of ours");
    };
    const message = sent[0]?.message ?? Buffer.alloc(0);
    expect(() => new Inbox().receive(message, fail, () => {})).toThrow("a fault of ours");
  });

  test("by several at once comes from each whole", () => {
    const boxes = ["one", "two", "three"].map((from) => ({ from, ...outbox(from) }));
    for (const { from, box } of boxes) box.send("a", { t: from }, Buffer.alloc(3 * kMiB, from));
    for (const { box } of boxes) box.flush();
    const inbox = new Inbox();
    const got: string[] = [];
    for (let at = 0; boxes.some(({ sent }) => at < sent.length); at += 1) {
      for (const { sent } of boxes) {
        const message = sent[at]?.message;
        if (message === undefined) continue;
        for (const { header, body } of framesOf(inbox, message)) {
          const { t } = header as { t: string };
          expect(Buffer.from(body).equals(Buffer.alloc(3 * kMiB, t))).toBe(true);
          got.push(t);
        }
      }
    }
    expect(got.sort()).toEqual(["one", "three", "two"]);
  });
});

describe("pieces", () => {
  const piece = (more: object, body?: Uint8Array) => {
    const header = { t: "piece", from: "me", piece: 1, at: 0, isLast: false, ...more };
    return Buffer.concat(encodeFrame(header, body ?? new Uint8Array(10)));
  };

  test("that are lost, doubled or in another order make no frame, and the next frame is whole", () => {
    const fates = fc.array(fc.constantFrom("lost", "doubled", "early", "as it is"), {
      minLength: 1,
      maxLength: 9,
    });
    fc.assert(
      fc.property(fates, (all) => {
        const { sent, box } = outbox();
        box.send("a", { t: "first" }, Buffer.alloc(2 * kMiB, 7));
        const way = sent.splice(0).map(({ message }) => message);
        for (const [at, fate] of all.entries()) {
          const index = at % way.length;
          const own = way[index] as Uint8Array;
          if (fate === "lost") way.splice(index, 1);
          if (fate === "doubled") way.splice(index, 0, own);
          if (fate === "early") way.unshift(...way.splice(index, 1));
          if (way.length === 0) break;
        }
        const inbox = new Inbox();
        const take = (message: Uint8Array) => {
          try {
            return framesOf(inbox, message);
          } catch (error) {
            expect(error).toBeInstanceOf(WireError);
            return [];
          }
        };
        for (const { body } of way.flatMap(take)) {
          expect(body.length).toBe(2 * kMiB);
          expect(Buffer.alloc(body.length, 7).equals(body)).toBe(true);
        }
        box.send("a", { t: "second" }, Buffer.alloc(kMiB, 8));
        const next = sent.flatMap(({ message }) => take(message));
        expect(next.map(({ header }) => header)).toEqual([{ t: "second" }]);
      }),
      { numRuns: 40 },
    );
  });

  test("of senders that never finish take no more than their bound", () => {
    const inbox = new Inbox();
    const body = new Uint8Array(kMiB);
    const before = process.memoryUsage().arrayBuffers;
    for (let n = 0; n < 300; n += 1) {
      const own = Uint8Array.from(body); // what the client gives is a new one each time
      framesOf(inbox, piece({ from: `sender ${n}` }, own));
    }
    // 64 MiB are kept; what was dropped is the collector's, which may not have looked yet.
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(700 * kMiB);
    const late = (from: string) => () =>
      framesOf(inbox, piece({ from, at: kMiB, isLast: true }, body));
    expect(late("sender 0")).toThrow("a piece of a frame is not the next one");
    // Those that came last are still there: their frame is whole, though it is none.
    expect(late("sender 299")).toThrow(WireError);
    expect(late("sender 299")).toThrow("a piece of a frame is not the next one");
  });

  test("of a frame that is longer than any may be are refused, and nothing of it is kept", () => {
    const inbox = new Inbox();
    const body = new Uint8Array(kMiB);
    for (let at = 0; at < 16 * kMiB; at += kMiB) {
      expect(framesOf(inbox, piece({ at }, body))).toEqual([]);
    }
    expect(() => framesOf(inbox, piece({ at: 16 * kMiB }, body))).toThrow("a frame is too long");
    expect(() => framesOf(inbox, piece({ at: 17 * kMiB }, body))).toThrow("is not the next one");
  });

  test("in pieces are none", () => {
    const { sent, box } = outbox();
    box.send("a", { t: "x" }, Buffer.alloc(kMiB));
    const inside = sent.map(({ message }) => message);
    const inbox = new Inbox();
    const frames = inside.flatMap((message, index) =>
      framesOf(inbox, piece({ from: "other", piece: index + 1, isLast: true }, message)),
    );
    // A piece that a piece holds is a frame with a header of that name: no message has it.
    expect(frames.every(({ header }) => (header as { t: string }).t === "piece")).toBe(true);
  });

  test.each([
    ["a length that is none", { at: -1 }],
    ["a place that is none", { at: 0.5 }],
    ["no sender", { from: 7 }],
    ["a sender that is too long", { from: "x".repeat(201) }],
    ["no end", { isLast: "yes" }],
  ])("with %s are refused", (_, wrong) => {
    expect(() => framesOf(new Inbox(), piece(wrong))).toThrow(WireError);
  });
});
