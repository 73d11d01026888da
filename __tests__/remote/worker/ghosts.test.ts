/** Callers that ask for slots and never take them: another tenant's runs go on, and the cost of asking does not grow. */

import { describe, expect, test } from "vitest";

import { Attachment } from "../../../lib/remote/worker/attachment.js";
import { Slots } from "../../../lib/remote/worker/slots.js";

const kTurnMs = 10;

/** Runs of the tenant "b", of a turn each, in so many turns, beside callers that are not there. */
function runsBeside(ghosts: number, size: number, count: number): number {
  const slots = new Slots(size);
  const attachments = new Map<string, Attachment>();
  const attach = (tenant: string, caller: string) => {
    const key = `${tenant}.${caller}`;
    const known = attachments.get(key) ?? new Attachment(tenant, caller, () => 1, 0);
    attachments.set(key, known);
    return known;
  };
  let runs = 0;
  let running: Attachment[] = [];
  for (let turn = 0; turn < count; turn += 1) {
    const now = turn * kTurnMs;
    for (const attachment of running) slots.release(attachment);
    running = [];
    for (let at = 0; at < ghosts; at += 1) slots.wants("a", `${turn}-${at}`, 1_000, now);
    slots.wants("b", "k", 1_000, now);
    const pulled: Attachment[] = [];
    slots.serve(now, (tenant, caller, n) => {
      const attachment = attach(tenant, caller);
      if (tenant === "b") for (let at = 0; at < n; at += 1) pulled.push(attachment);
      return attachment;
    });
    for (const attachment of pulled) if (slots.take(attachment, now)) running.push(attachment);
    runs += running.length;
  }
  return runs;
}

describe.each([1, 2, 8])(
  "with %d slots, a tenant that asks for slots that it does not take",
  (size) => {
    test("leaves another one most of them", () => {
      const alone = runsBeside(0, size, 3_000);
      expect(alone).toBe(3_000 * size);
      expect(runsBeside(3, size, 3_000) / alone).toBeGreaterThan(0.7);
    });
  },
);

test("a tenant that has answered again has all that it had", () => {
  const slots = new Slots(4);
  const one = new Attachment("a", "k", () => 1, 0);
  let now = 0;
  const pulled = () => {
    let sum = 0;
    slots.wants("a", "k", 100, now);
    slots.serve(now, (_tenant, _caller, n) => {
      sum += n;
      return one;
    });
    return sum;
  };
  expect(pulled()).toBe(4);
  now += 1_001;
  expect([pulled(), slots.free(now)]).toEqual([2, 2]); // half, and not for all of the slots
  for (let at = 0; at < 2; at += 1) expect(slots.take(one, now)).toBe(true);
  for (let at = 0; at < 2; at += 1) slots.release(one);
  for (let answered = 0; answered < 4; answered += 1) {
    pulled();
    slots.unreserve(one);
  }
  expect(pulled()).toBe(4);
});

test("what asking costs does not grow with the callers that are known", () => {
  let looks = 0;
  const seen = (attachment: Attachment) =>
    new Proxy(attachment, {
      get: (target, name) => {
        looks += 1;
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  const cost = (callers: number) => {
    looks = 0;
    const slots = new Slots(8);
    for (let at = 0; at < callers; at += 1) {
      slots.wants("a", `${at % 1_000}`, 1, 0);
      slots.serve(0, (tenant, caller) => seen(new Attachment(tenant, caller, () => 1, 0)));
    }
    return looks / callers;
  };
  expect(cost(4_000)).toBeLessThanOrEqual(2 * cost(100) + 1);
});
