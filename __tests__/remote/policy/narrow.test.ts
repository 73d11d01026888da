/** Each field by itself: what is let through, what is refused, and under which name. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Refusal } from "../../../lib/remote/policy/checked.js";
import { narrow } from "../../../lib/remote/policy/narrow.js";
import { parseWorkerPolicy } from "../../../lib/remote/policy/worker-policy.js";
import { kRows } from "./narrow-rows.js";

const ceilingWith = (policy: object = {}) => parseWorkerPolicy(policy).ceiling;

describe.each(Object.entries(kRows))("%s", (_, { policy, allowed, refused }) => {
  const ceiling = ceilingWith(policy);
  test.each(allowed)("lets %j through", (asked, got) => {
    const narrowed = narrow(ceiling, asked);
    if (narrowed instanceof Refusal) throw new Error(narrowed.message);
    expect(narrowed.options).toMatchObject(got);
    for (const [name, value] of Object.entries(got)) {
      expect(narrowed.options).toHaveProperty(name, value);
    }
  });
  test.each(refused)("refuses %j", (asked, field) => {
    const refusal = narrow(ceiling, asked);
    expect(refusal).toBeInstanceOf(Refusal);
    expect(refusal).toMatchObject({ field });
    expect((refusal as Refusal).message).toContain(field.split(/[.[]/)[0]);
  });
});

test("what is no object is refused", () => {
  for (const asked of [null, 1, "x", [], () => {}]) {
    expect(narrow(ceilingWith(), asked)).toBeInstanceOf(Refusal);
  }
});

test("a refusal says what would do", () => {
  expect(narrow(ceilingWith(), { limits: { timeoutMs: 7_200_000 } })).toMatchObject({
    field: "limits.timeoutMs",
    asked: 7_200_000,
    allowed: "at most 3600000",
    message:
      "Expected `limits.timeoutMs` to be at most 3600000 by the worker's policy, got 7200000",
  });
  expect(narrow(ceilingWith(), { network: "allow" })).toMatchObject({
    message: 'Expected `network` to be "deny" by the worker\'s policy, got "allow"',
  });
  expect(narrow(ceilingWith(), { netwrk: "deny" })).toMatchObject({
    message: 'Unknown field "netwrk" in `options`; did you mean `network`?',
  });
});

test("whatever comes is let through or refused, and nothing is thrown", () => {
  const names = Object.keys(ceilingWith().options);
  const asked = fc.oneof(
    fc.anything({ withNullPrototype: true, withBigInt: true, withDate: true, withMap: true }),
    fc.dictionary(fc.constantFrom(...names, "limits", "__proto__", "x"), fc.jsonValue()),
    fc.record({
      network: fc.dictionary(fc.constantFrom("allow", "deny", "allowPrivate"), fc.jsonValue()),
    }),
    fc.record({
      mounts: fc.array(fc.dictionary(fc.constantFrom("hostPath", "mode", "x"), fc.jsonValue())),
    }),
  );
  const ceilings = [{}, { network: "allow" }, { network: { allow: ["a.test"] } }].map(ceilingWith);
  fc.assert(
    fc.property(asked, fc.constantFrom(...ceilings), (value, ceiling) => {
      const answer = narrow(ceiling, value);
      if (answer instanceof Refusal) expect(answer.message.length).toBeLessThan(1000);
    }),
    { numRuns: 2000 },
  );
});

test("a refusal is short, however much the policy has", () => {
  const allow = Array.from({ length: 1000 }, (_, at) => `h${at}.test`);
  const refusal = narrow(ceilingWith({ network: { allow } }), { network: { allow: ["x.test"] } });
  expect((refusal as Refusal).allowed).toMatch(/^within h0\.test, .* and 992 more$/);
});
