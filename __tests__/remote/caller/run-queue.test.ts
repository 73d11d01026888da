/** The queue of a pool: the lowest number first, for the workers that may have it, at a cost that does not grow. */

import fc from "fast-check";
import { expect, test } from "vitest";

import { RunQueue } from "../../../lib/remote/caller/run-queue.js";

type Run = { number: number; request: { onWorker?: string | undefined } };

const name = fc.constantFrom("one", "two");
const step = fc.oneof(
  fc.record({ what: fc.constant("add" as const), onWorker: fc.option(name, { nil: undefined }) }),
  fc.record({ what: fc.constant("take" as const), name }),
  fc.record({ what: fc.constant("return" as const), at: fc.nat(50) }),
  fc.record({ what: fc.constant("remove" as const), at: fc.nat(50) }),
);

test("gives each worker the first of its runs, whatever is added, returned and removed", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
      const queue = new RunQueue<Run>();
      let waiting: Run[] = [];
      const taken: Run[] = [];
      let numbers = 0;
      for (const each of steps) {
        if (each.what === "add") {
          const run = { number: ++numbers, request: { onWorker: each.onWorker } };
          queue.add(run);
          waiting.push(run);
        } else if (each.what === "return") {
          const [run] = taken.splice(each.at % Math.max(1, taken.length), 1);
          if (run === undefined) continue;
          queue.add(run);
          waiting = [...waiting, run].sort((a, b) => a.number - b.number);
        } else if (each.what === "remove") {
          const run = waiting[each.at];
          if (run !== undefined) queue.remove(run);
          waiting = waiting.filter((other) => other !== run);
        } else {
          const first = waiting.find(
            ({ request: { onWorker = each.name } }) => onWorker === each.name,
          );
          expect(queue.firstFor(each.name)).toBe(first);
          if (first === undefined) continue;
          queue.remove(first);
          queue.remove(first); // does nothing
          waiting = waiting.filter((other) => other !== first);
          taken.push(first);
        }
        expect(queue.size).toBe(waiting.length);
      }
    }),
    { numRuns: 300 },
  );
});

test("looks at each run a few times, however many there are", () => {
  let looks = 0;
  const runOf = (number: number): Run => ({
    get number() {
      looks += 1;
      return number;
    },
    request: {},
  });
  const cost = (count: number) => {
    looks = 0;
    const queue = new RunQueue<Run>();
    const runs = Array.from({ length: count }, (_, at) => runOf(at));
    for (const run of runs) queue.add(run);
    for (const run of runs.slice(count / 2)) queue.remove(run);
    for (let run = queue.firstFor("w"); run; run = queue.firstFor("w")) queue.remove(run);
    return looks / count;
  };
  expect(cost(40_000)).toBeLessThanOrEqual(2 * cost(400));
});
