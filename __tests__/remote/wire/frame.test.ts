/** Frames and headers, of friends and of enemies: what is none is a WireError, and never anything else. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { decodeFrames, encodeFrame, Inbox, WireError } from "../../../lib/remote/wire/frame.js";
import { readToCaller, readToWorker } from "../../../lib/remote/wire/messages.js";
import { framesOf } from "../../support/remote/frames-of.js";

const kCases = { numRuns: 500 };
const said = fc.record({
  header: fc.record({ t: fc.string(), more: fc.jsonValue() }),
  body: fc.uint8Array({ maxLength: 300 }),
});
const together = (all: readonly { header: { t: string }; body: Uint8Array }[]) =>
  Buffer.concat(all.flatMap(({ header, body }) => encodeFrame(header, body)));

/** What a function says to bytes that may be anything; other errors than its own fail the test. */
function answerTo<Value>(take: () => Value): Value | WireError {
  try {
    return take();
  } catch (error) {
    if (error instanceof WireError) return error;
    throw error;
  }
}

describe("frames", () => {
  test("come out as they went in, however many are one message", () => {
    fc.assert(
      fc.property(fc.array(said, { maxLength: 20 }), (all) => {
        const got = decodeFrames(together(all));
        expect(got.map(({ header }) => header)).toEqual(
          all.map(({ header }) => JSON.parse(JSON.stringify(header)) as unknown),
        );
        expect(got.map(({ body }) => [...body])).toEqual(all.map(({ body }) => [...body]));
      }),
      kCases,
    );
  });

  test("may be anywhere in the memory of a message", () => {
    const bytes = together([{ header: { t: "x" }, body: Uint8Array.of(1, 2, 3) }]);
    for (let before = 0; before < 9; before += 1) {
      const room = new Uint8Array(before + bytes.length + 5);
      room.set(bytes, before);
      const [frame] = decodeFrames(room.subarray(before, before + bytes.length));
      expect(frame?.header).toEqual({ t: "x" });
      expect([...(frame?.body ?? [])]).toEqual([1, 2, 3]);
    }
  });

  test("cut off anywhere but at an end are refused", () => {
    fc.assert(
      fc.property(fc.array(said, { minLength: 1, maxLength: 4 }), fc.nat(), (all, at) => {
        const whole = together(all);
        const ends = all.map((_, index) => together(all.slice(0, index)).length);
        const cut = at % whole.length;
        const got = answerTo(() => decodeFrames(whole.subarray(0, cut)));
        if (ends.includes(cut)) expect(got).toHaveLength(ends.indexOf(cut));
        else expect(got).toBeInstanceOf(WireError);
      }),
      kCases,
    );
  });

  test("of any bytes are frames or refused, and change nothing that is not theirs", () => {
    const changed = fc.tuple(
      fc.array(said, { maxLength: 3 }),
      fc.array(fc.tuple(fc.nat(), fc.nat(255))),
    );
    const mutated = changed.map(([all, edits]) => {
      const bytes = together(all);
      for (const [at, byte] of edits) if (bytes.length > 0) bytes[at % bytes.length] = byte;
      return new Uint8Array(bytes);
    });
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 200 }), mutated), (bytes) => {
        const before = Buffer.from(bytes);
        const got = answerTo(() => decodeFrames(bytes));
        expect(Buffer.from(bytes).equals(before)).toBe(true);
        answerTo(() => framesOf(new Inbox(), bytes));
        if (got instanceof WireError) return;
        // Lengths are believed only where the bytes are there.
        const length = got.reduce((sum, { body }) => sum + body.length, 0);
        expect(length).toBeLessThanOrEqual(bytes.length);
      }),
      { numRuns: 1_000 },
    );
  });

  test("with a header as deep as a message is long are JSON, or refused", () => {
    for (const depth of [1_000, 200_000]) {
      const text = Buffer.from(`${"[".repeat(depth)}${"]".repeat(depth)}`);
      const bytes = Buffer.concat([Buffer.alloc(4), text, Buffer.alloc(4)]);
      bytes.writeUInt32BE(text.length);
      answerTo(() => framesOf(new Inbox(), bytes).map(({ header }) => readToWorker(header)));
    }
  });
});

describe.each([
  ["workers", readToWorker],
  ["callers", readToCaller],
] as const)("headers for %s", (_, read) => {
  const kWords = [
    ...["t", "caller", "worker", "run", "attempt", "kind", "seq", "ack", "stream", "bytes", "at"],
    ...["__proto__", "constructor", "receipts", "runs", "lease", "free", "pool", "n", "credit"],
  ];
  const kNames = [
    ...["want", "grant", "abort", "input", "credit", "call", "echo", "bye", "probe", "port"],
    ...["pull", "decline", "began", "out", "end", "answer", "beat", "toString", "__proto__"],
  ];

  test("are messages or refused, whatever they are", () => {
    const likely = fc.dictionary(fc.constantFrom(...kWords), fc.jsonValue());
    const named = fc.tuple(fc.constantFrom(...kNames), likely).map(([t, rest]) => ({ ...rest, t }));
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), likely, named), (header) => {
        const got = answerTo(() => read(JSON.parse(JSON.stringify(header))));
        if (got instanceof WireError) return;
        expect(kNames).toContain(got.t);
      }),
      { numRuns: 1_000 },
    );
  });
});

test("a grant that is right is read, and fields of a newer wire are left out", () => {
  const grant = {
    ...{ t: "grant", caller: "c", run: 1, attempt: 1, kind: "exec", isLive: false, credit: 1 },
    ...{ lease: 1, oldest: 1, waiting: 0, input: { argv: ["true"] } },
  };
  expect(readToWorker({ ...grant, newer: 1 })).toEqual(grant);
  for (const name of Object.keys(grant).filter((each) => each !== "input")) {
    const { [name as keyof typeof grant]: _, ...without } = grant;
    expect(
      answerTo(() => readToWorker(without)),
      name,
    ).toBeInstanceOf(WireError);
  }
  for (const wrong of [-1, 0.5, "1", null, Number.NaN, 2 ** 60]) {
    const got = answerTo(() => readToWorker({ ...grant, run: wrong }));
    if (wrong === 2 ** 60) expect(got).toMatchObject({ run: 2 ** 60 });
    else expect(got, String(wrong)).toBeInstanceOf(WireError);
  }
});
