/** Whose turn it is: no tenant is starved by another, however many callers that has, and however much they want. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { FairQueue } from "../../../lib/remote/worker/slots.js";

const kRemembered = 2_000;
const crowd = fc.dictionary(
  fc.constantFrom("a", "b", "c", "d"),
  fc.dictionary(fc.constantFrom(..."klmnopq"), fc.integer({ min: 1, max: 1_000 }), { minKeys: 1 }),
  { minKeys: 1 },
);

function filled(who: Record<string, Record<string, number>>, now = 0): FairQueue {
  const queue = new FairQueue();
  for (const [tenant, callers] of Object.entries(who)) {
    for (const [caller, n] of Object.entries(callers)) queue.set(tenant, caller, n, now);
  }
  return queue;
}

describe("while all of them wait", () => {
  test("each tenant is once in as many turns as there are tenants, and each caller in its tenant's", () => {
    fc.assert(
      fc.property(crowd, (who) => {
        const queue = filled(who);
        const tenants = Object.keys(who);
        const most = Math.max(...Object.values(who).map((callers) => Object.keys(callers).length));
        const turns = Array.from({ length: tenants.length * most * 2 }, () => queue.next(0));
        for (let at = 0; at + tenants.length <= turns.length; at += 1) {
          const window = turns.slice(at, at + tenants.length).map((turn) => turn?.tenant);
          expect(new Set(window).size).toBe(tenants.length);
        }
        for (const [tenant, callers] of Object.entries(who)) {
          const own = turns.filter((turn) => turn?.tenant === tenant).map((turn) => turn?.caller);
          const count = Object.keys(callers).length;
          for (let at = 0; at + count <= own.length; at += 1) {
            expect(new Set(own.slice(at, at + count)).size).toBe(count);
          }
        }
      }),
      { numRuns: 300 },
    );
  });

  test("one who comes late, or says it again, waits for one turn of each other at most", () => {
    fc.assert(
      fc.property(crowd, fc.nat(30), fc.boolean(), (who, before, isSaidAgain) => {
        const queue = filled(who);
        for (let at = 0; at < before; at += 1) queue.next(0);
        queue.set("late", "comer", 1, 0);
        const tenants = Object.keys(who).length + 1;
        const turns: (string | undefined)[] = [];
        for (let at = 0; at < tenants; at += 1) {
          // What others say anew, and how much they want, gains them nothing.
          for (const [tenant, callers] of Object.entries(who)) {
            for (const caller of Object.keys(callers)) queue.set(tenant, caller, 1e9, 0);
          }
          if (isSaidAgain) queue.set("late", "comer", 1, 0);
          turns.push(queue.next(0)?.tenant);
        }
        expect(turns).toContain("late");
      }),
      { numRuns: 300 },
    );
  });

  test("a tenant with 20,000 callers neither starves another nor fills the memory", () => {
    const queue = new FairQueue();
    for (let n = 0; n < 20_000; n += 1) queue.set("crowd", `c${n}`, 100, 0);
    queue.set("one", "caller", 100, 0);
    expect(queue.callers()).toEqual({ crowd: 1_024, one: 1 });
    const turns = Array.from({ length: 100 }, () => queue.next(0)?.tenant);
    expect(turns.filter((tenant) => tenant === "one")).toHaveLength(50);
    queue.set("crowd", "c0", 5, 1); // one that is known is still heard
    expect(queue.callers().crowd).toBe(1_024);
  });
});

test("what was asked is what is given: no more turns than runs, and none for who has said that nothing waits", () => {
  fc.assert(
    fc.property(crowd, fc.constantFrom("a", "b", "c", "d"), (who, gone) => {
      const queue = filled(who);
      for (const caller of Object.keys(who[gone] ?? {})) queue.set(gone, caller, 0, 0);
      const given: Record<string, number> = {};
      for (let turn = queue.next(0); turn; turn = queue.next(0)) {
        const n = Math.min(turn.n, 100);
        const key = `${turn.tenant} ${turn.caller}`;
        given[key] = (given[key] ?? 0) + n;
        queue.took(turn.tenant, turn.caller, n);
      }
      const wanted = Object.entries(who)
        .filter(([tenant]) => tenant !== gone)
        .flatMap(([tenant, callers]) =>
          Object.entries(callers).map(([caller, n]) => [`${tenant} ${caller}`, n] as const),
        );
      expect(given).toEqual(Object.fromEntries(wanted));
      expect(queue.size).toBe(0);
    }),
    { numRuns: 200 },
  );
});

test("who is not heard of any more has no turn, and those after him have theirs", () => {
  fc.assert(
    fc.property(crowd, fc.subarray(["a", "b", "c", "d"]), (who, heard) => {
      const queue = filled(who, 0);
      for (const tenant of heard) {
        for (const [caller, n] of Object.entries(who[tenant] ?? {}))
          queue.set(tenant, caller, n, 1_500);
      }
      const isThere = heard.some((tenant) => who[tenant] !== undefined);
      const turn = queue.next(kRemembered + 1);
      expect(turn !== undefined).toBe(isThere);
      if (turn) expect(heard).toContain(turn.tenant);
      expect(queue.next(1_500 + kRemembered + 1)).toBeUndefined();
    }),
    { numRuns: 200 },
  );
});
