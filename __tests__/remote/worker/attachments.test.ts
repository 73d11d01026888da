/** Callers of a worker: each is known once, and a tenant that invents them reaches its own bound only. */

import { expect, test } from "vitest";

import { Attachments } from "../../../lib/remote/worker/attachment.js";

test("a caller is known until it is forgotten, and has a lease that no other has had", () => {
  const attachments = new Attachments();
  const one = attachments.of("a", "k", 0);
  expect(attachments.of("a", "k", 1)).toBe(one);
  expect(attachments.of("b", "k", 1)).not.toBe(one);
  expect([...attachments].map(({ tenant, caller }) => tenant + caller)).toEqual(["ak", "bk"]);
  const leases = [...attachments].map(({ leaseNumber }) => leaseNumber);
  if (one !== undefined) attachments.forget(one);
  const again = attachments.of("a", "k", 2);
  expect(again).not.toBe(one);
  expect(leases).not.toContain(again?.leaseNumber);
});

test("a tenant that invents callers is refused more, another is not, and room comes back", () => {
  const attachments = new Attachments(3);
  const invented = ["k", "l", "m"].map((caller) => attachments.of("a", caller, 0));
  expect(invented).not.toContain(undefined);
  expect(attachments.of("a", "n", 0)).toBeUndefined();
  expect(attachments.of("a", "k", 0)).toBe(invented[0]);
  expect(attachments.of("b", "n", 0)).toBeDefined();
  if (invented[1] !== undefined) attachments.forget(invented[1]);
  expect(attachments.of("a", "n", 0)).toBeDefined();
});
