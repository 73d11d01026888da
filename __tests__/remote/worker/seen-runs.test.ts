/** A run is started once at most by one worker, whatever the way makes of its grants. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { SeenRuns } from "../../../lib/remote/worker/attachment.js";

const run = fc.integer({ min: 1, max: 6 });
const attempt = fc.integer({ min: 1, max: 5 });
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      what: fc.constant("grant" as const),
      run,
      attempt,
      hasRoom: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ what: fc.constant("probe" as const), run, attempt }) },
  {
    weight: 1,
    arbitrary: fc.record({
      what: fc.constant("settled" as const),
      oldest: fc.integer({ min: 1, max: 8 }),
    }),
  },
);

describe("grants that come doubled, late and in any order", () => {
  test("start each run once at most, and never one that was declined or is settled", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const seen = new SeenRuns();
        const started = new Set<number>();
        /** The last attempt that its caller was told will never be started. */
        const declined = new Map<number, number>();
        /** The last attempt that has come. */
        const came = new Map<number, number>();
        let oldest = 0;
        for (const each of steps) {
          if (each.what === "settled") {
            seen.settled(each.oldest);
            oldest = Math.max(oldest, each.oldest);
            continue;
          }
          const known = Math.max(came.get(each.run) ?? 0, declined.get(each.run) ?? 0);
          if (each.what === "probe") {
            if (started.has(each.run)) continue; // it is there, so nothing is declined
            seen.refuse(each.run, each.attempt);
            declined.set(each.run, Math.max(declined.get(each.run) ?? 0, each.attempt));
            continue;
          }
          const isNew = seen.isNew(each.run, each.attempt);
          const mayStart = !started.has(each.run) && each.attempt > known && each.run >= oldest;
          expect(isNew).toBe(mayStart);
          if (!isNew) continue;
          came.set(each.run, each.attempt);
          if (each.hasRoom) {
            seen.started(each.run);
            started.add(each.run);
          } else declined.set(each.run, each.attempt);
        }
      }),
      { numRuns: 1_000 },
    );
  });

  test("at several workers start it once, where a caller goes on only after a decline", () => {
    const kWorkers = 3;
    /** In which order what is on the way arrives, how often, and whether there is room. */
    const fates = fc.array(
      fc.record({ pick: fc.nat(), copies: fc.integer({ min: 1, max: 3 }), hasRoom: fc.boolean() }),
      { minLength: 1, maxLength: 60 },
    );
    fc.assert(
      fc.property(fates, (all) => {
        const workers = Array.from({ length: kWorkers }, () => new SeenRuns());
        let starts = 0;
        let attemptNow = 1;
        let isOver = false;
        type Word = { to: number; attempt: number };
        const way: Word[] = [{ to: 0, attempt: 1 }];
        for (const { pick, copies, hasRoom } of all) {
          const [word] = way.splice(pick % way.length, 1);
          if (word === undefined) break;
          // A copy stays on its way and comes after anything else.
          for (let copy = 1; copy < copies; copy += 1) way.push(word);
          if (!workers[word.to]?.isNew(1, word.attempt)) {
            if (way.length === 0) break;
            continue;
          }
          if (hasRoom) {
            workers[word.to]?.started(1);
            starts += 1;
            isOver = true;
          } else if (word.attempt === attemptNow && !isOver) {
            attemptNow += 1;
            way.push({ to: pick % kWorkers, attempt: attemptNow });
          }
          if (way.length === 0) break;
        }
        expect(starts).toBeLessThanOrEqual(1);
      }),
      { numRuns: 1_000 },
    );
  });
});

test("settled runs take no memory, and come to no new life", () => {
  const seen = new SeenRuns();
  for (let number = 1; number <= 1_000; number += 1) {
    expect(seen.isNew(number, 1)).toBe(true);
    seen.started(number);
  }
  seen.settled(501);
  seen.settled(7); // an older word comes later
  for (let number = 1; number <= 1_000; number += 1) {
    expect(seen.isNew(number, 99), `${number}`).toBe(false);
  }
  expect(seen.isNew(1_001, 1)).toBe(true);
});
