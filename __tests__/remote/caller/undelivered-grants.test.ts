/** What is told of grants that have reached nobody: each once, with the message that it went with, and no other. */

import fc from "fast-check";
import { expect, test } from "vitest";

import { Deliveries } from "../../../lib/remote/caller/post.js";

const kWorkers = ["one", "two", "three"] as const;
const worker = fc.constantFrom(...kWorkers);
const step = fc.oneof(
  fc.record({ what: fc.constant("add" as const), worker }),
  fc.record({ what: fc.constant("send" as const), worker }),
  fc.record({ what: fc.constant("undelivered" as const), message: fc.nat(40) }),
);

test("a message that has reached nobody tells its grants, once", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      const deliveries = new Deliveries();
      const waiting = new Map<string, number[]>(kWorkers.map((each) => [each, []]));
      const sent = new Map<number, number[]>();
      let runs = 0;
      for (const each of steps) {
        if (each.what === "add") {
          deliveries.add(each.worker, ++runs, runs % 3);
          waiting.get(each.worker)?.push(runs);
        } else if (each.what === "send") {
          const number = deliveries.send(each.worker);
          const own = waiting.get(each.worker) ?? [];
          if (own.length === 0) expect(number).toBe(0);
          else {
            expect(sent.has(number)).toBe(false);
            sent.set(number, own);
            waiting.set(each.worker, []);
          }
        } else {
          const reported = deliveries.undelivered(each.message);
          const own = sent.get(each.message) ?? [];
          expect(reported).toEqual(own.map((run) => ({ run, attempt: run % 3 })));
          sent.delete(each.message);
        }
      }
    }),
    { numRuns: 300 },
  );
});

test("what was sent long ago counts as delivered, and the memory of it goes", () => {
  const deliveries = new Deliveries();
  const numbers = Array.from({ length: 5_000 }, (_, run) => {
    deliveries.add("one", run, 1);
    return deliveries.send("one");
  });
  const reported = numbers.filter((number) => deliveries.undelivered(number).length > 0);
  expect(reported).toEqual(numbers.slice(-4_096));
});

test("what is no number of a message tells nothing", () => {
  const deliveries = new Deliveries();
  deliveries.add("one", 1, 1);
  deliveries.send("one");
  for (const number of [0, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY]) {
    expect(deliveries.undelivered(number)).toEqual([]);
  }
  expect(deliveries.undelivered(1)).toEqual([{ run: 1, attempt: 1 }]);
});
