/** Slots: never more runs than there are, none that is lost, and all in turn. Times in milliseconds. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { Attachment } from "../../../lib/remote/worker/attachment.js";
import { defaultSlots, Slots } from "../../../lib/remote/worker/slots.js";

const kReserved = 1_000;

function world(size: number, most?: (tenant: string) => number | undefined) {
  const attachments = new Map<string, Attachment>();
  let leases = 0;
  const attach = (tenant: string, caller: string) => {
    const key = `${tenant}.${caller}`;
    const known = attachments.get(key) ?? new Attachment(tenant, caller, () => ++leases, 0);
    attachments.set(key, known);
    return known;
  };
  return { slots: new Slots(size, most), attach, attachments };
}

const tenant = fc.constantFrom("a", "b", "c");
const caller = fc.constantFrom("k", "l");
const step = fc.oneof(
  fc.record({ what: fc.constant("wants" as const), tenant, caller, n: fc.nat(20) }),
  fc.record({ what: fc.constant("take" as const), tenant, caller }),
  fc.record({ what: fc.constant("release" as const) }),
  fc.record({ what: fc.constant("none" as const), tenant, caller }),
  fc.record({ what: fc.constant("serve" as const) }),
  fc.record({ what: fc.constant("later" as const), ms: fc.nat(1_500) }),
);

describe("whatever callers ask, take and leave", () => {
  const size = fc.integer({ min: 1, max: 5 });
  /** Of tenants that have one. */
  const limits = fc.dictionary(tenant, fc.integer({ min: 1, max: 5 }));
  test("there are never more runs than slots, nor of a tenant than it may have, and none is lost", () => {
    fc.assert(
      fc.property(size, limits, fc.array(step, { maxLength: 100 }), (slotCount, most, steps) => {
        const { slots, attach, attachments } = world(slotCount, (own) => most[own]);
        const running: Attachment[] = [];
        let now = 0;
        const kept = (own?: string) =>
          [...attachments.values()]
            .filter((each) => own === undefined || each.tenant === own)
            .reduce((sum, each) => sum + slots.reservation(each, now), 0);
        for (const each of steps) {
          if (each.what === "wants") slots.wants(each.tenant, each.caller, each.n, now);
          else if (each.what === "later") now += each.ms;
          else if (each.what === "none") slots.unreserve(attach(each.tenant, each.caller));
          else if (each.what === "take") {
            const attachment = attach(each.tenant, each.caller);
            if (slots.take(attachment, now)) running.push(attachment);
          } else if (each.what === "release") {
            const attachment = running.shift();
            if (attachment) slots.release(attachment);
          } else {
            slots.serve(now, (own, who, n) => {
              expect(n).toBeGreaterThan(0);
              return attach(own, who);
            });
          }
          expect(running.length).toBeLessThanOrEqual(slotCount);
          const free = Math.max(0, slotCount - running.length - kept());
          expect(slots.free(now)).toBe(free);
          for (const own of ["a", "b", "c"]) {
            const runs = running.filter((attachment) => attachment.tenant === own).length;
            const left = (most[own] ?? slotCount) - runs;
            expect(left).toBeGreaterThanOrEqual(most[own] === undefined ? -slotCount : 0);
            const wanted = most[own] === undefined ? free : Math.min(free, left - kept(own));
            expect(slots.freeFor(own, now)).toBe(Math.max(0, wanted));
          }
        }
        for (const attachment of running) slots.release(attachment);
        expect(slots.free(now + kReserved + 1)).toBe(slotCount);
      }),
      { numRuns: 500 },
    );
  });

  test("a tenant that has all that it may have holds up nobody, and is served again at once", () => {
    const { slots, attach } = world(3, (own) => (own === "a" ? 1 : undefined));
    const pulled: string[] = [];
    const serve = () =>
      slots.serve(0, (own, who, n) => {
        pulled.push(`${own} ${n}`);
        return attach(own, who);
      });
    slots.wants("a", "k", 9, 0);
    serve();
    expect(pulled.splice(0)).toEqual(["a 1"]);
    expect(slots.take(attach("a", "k"), 0)).toBe(true);
    expect(slots.take(attach("a", "l"), 0)).toBe(false);
    slots.wants("b", "k", 9, 0);
    serve();
    expect(pulled.splice(0)).toEqual(["b 1", "b 1"]);
    for (const _ of [1, 2]) expect(slots.take(attach("b", "k"), 0)).toBe(true);
    slots.release(attach("a", "k"));
    serve();
    expect(pulled).toEqual(["a 1"]);
  });

  test("a caller that can't be asked is passed over, and another is asked", () => {
    const { slots, attach } = world(2);
    slots.wants("a", "k", 9, 0);
    slots.wants("b", "k", 9, 0);
    const asked: string[] = [];
    slots.serve(0, (own, who) => {
      asked.push(own);
      return own === "a" ? undefined : attach(own, who);
    });
    expect(asked.filter((own) => own === "b")).toHaveLength(2);
    expect(slots.free(0)).toBe(0);
  });

  test("a slot that is kept for one is not taken by another, and not for ever", () => {
    const { slots, attach } = world(1);
    slots.wants("a", "k", 5, 0);
    const pulled: string[] = [];
    slots.serve(0, (own, who, n) => {
      pulled.push(`${own} ${who} ${n}`);
      return attach(own, who);
    });
    expect(pulled).toEqual(["a k 1"]);
    expect(slots.take(attach("b", "k"), kReserved)).toBe(false);
    expect(slots.take(attach("a", "k"), kReserved)).toBe(true); // the control
    slots.release(attach("a", "k"));
    slots.serve(kReserved, (own, who) => attach(own, who));
    expect(slots.take(attach("b", "k"), 2 * kReserved + 1)).toBe(true);
  });
});

describe("one tenant that wants everything", () => {
  /** Runs that last one turn each; who gets how many of so many turns. */
  function turns(size: number, count: number, wants: (now: number) => [string, string, number][]) {
    const { slots, attach } = world(size);
    const given: Record<string, number> = {};
    const waited: Record<string, number> = {};
    for (let turn = 0; turn < count; turn += 1) {
      const now = turn * 10;
      for (const [own, who, n] of wants(now)) slots.wants(own, who, n, now);
      const pulled: Attachment[] = [];
      slots.serve(now, (own, who, n) => {
        const attachment = attach(own, who);
        given[own] = (given[own] ?? 0) + n;
        waited[own] ??= turn;
        for (let at = 0; at < n; at += 1) pulled.push(attachment);
        return attachment;
      });
      for (const attachment of pulled) expect(slots.take(attachment, now)).toBe(true);
      for (const attachment of pulled) slots.release(attachment);
    }
    return { given, waited };
  }

  test("has no more than its share while others wait, however many callers it has", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 8 }),
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 1, max: 4 }),
        (size, crowd, others) => {
          const names = Array.from({ length: others }, (_, n) => `other${n}`);
          const { given, waited } = turns(size, 60, () => [
            ...Array.from({ length: crowd }, (_, n): [string, string, number] => [
              "crowd",
              `c${n}`,
              1e6,
            ]),
            ...names.map((own): [string, string, number] => [own, "k", 50]),
          ]);
          for (const own of names) {
            expect(waited[own]).toBeLessThanOrEqual(Math.ceil((others + 1) / size));
            const share = given.crowd ?? 0;
            expect(given[own]).toBeGreaterThanOrEqual(share - size - 1);
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  test("has all of them where nobody else waits", () => {
    const { given } = turns(4, 10, () => [["crowd", "k", 100]]);
    expect(given).toEqual({ crowd: 40 });
  });
});

test("while somebody waits, no slot is offered to who asks next", () => {
  const { slots } = world(2);
  expect(slots.offered("a", 0)).toBe(2);
  slots.wants("a", "k", 1, 0);
  expect(slots.offered("b", 0)).toBe(0);
  expect(slots.waiting).toEqual({ a: 1 });
  expect(defaultSlots()).toBeGreaterThanOrEqual(8);
});
