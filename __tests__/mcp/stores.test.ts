/** What a server keeps is bounded, however long it lives. */

import { expect, test } from "vitest";
import { GrantOffers, OutputStore } from "../../lib/mcp/sandbox.js";
import { Questions } from "../../lib/mcp/server.js";
import type { Denial } from "../../types/public.js";

const denial = (path: string): Denial => ({
  ...{ kind: "read", operation: "openat", path, errno: "ENOENT", by: "bubblewrap", count: 1 },
  grant: {
    option: "mounts",
    value: { hostPath: path, mode: "ro" },
    cli: `--mount ${path}:ro`,
  },
});

test("of outputs the oldest are forgotten, by their number and by their bytes", () => {
  const store = new OutputStore();
  for (let at = 0; at < 1000; at += 1) store.keep(store.next(), "stdout", Buffer.from(`${at}`));
  expect(store.links()).toHaveLength(256);
  expect(store.read("1", "stdout", "0")).toBeUndefined();
  expect(store.read("1000", "stdout", "0")).toBe("999");
  const large = Buffer.alloc(40 * 1024 ** 2, "x");
  store.keep(store.next(), "stdout", large);
  store.keep(store.next(), "stdout", large);
  expect(store.read("1001", "stdout", "0")).toBeUndefined();
  expect(store.links()).toHaveLength(40);
});

test.each([
  ["1", "stdout", "-1"],
  ["1", "stdout", "1.5"],
  ["1", "stdout", "length"],
  ["1", "nothing", "0"],
  ["__proto__", "stdout", "0"],
])("there is no output %s/%s/%s", (id, stream, part) => {
  const store = new OutputStore();
  store.keep(store.next(), "stdout", Buffer.from("x"));
  expect(store.read(id, stream, part)).toBeUndefined();
});

test("a grant has one id, until it is given; the oldest offers are forgotten", () => {
  const offers = new GrantOffers();
  expect(offers.offer(denial("/a"))).toBe("g1");
  expect(offers.offer(denial("/a"))).toBe("g1");
  expect(offers.offer(denial("/b"))).toBe("g2");
  offers.give([denial("/a")]);
  expect(offers.offer(denial("/a"))).toBeUndefined();
  expect(offers.given()).toEqual([denial("/a")]);
  for (let at = 0; at < 1000; at += 1) offers.offer(denial(`/${at}`));
  expect(offers.find("g2")).toBeUndefined();
  expect(offers.find("g1002")).toEqual(denial("/999"));
});

test("a denial that can't be granted is no offer", () => {
  const { grant: _, ...plain } = denial("/a");
  expect(new GrantOffers().offer({ ...plain, notAdvised: "it is a secret" })).toBeUndefined();
});

test("a question is answered once, by the tool that put it", () => {
  const questions = new Questions();
  const put = () => questions.put({ tool: "commit", about: 1, narrowing: undefined });
  const key = put();
  expect(questions.take(key, "run")).toBeUndefined();
  expect(questions.take("guess", "commit")).toBeUndefined();
  expect(questions.take(undefined, "commit")).toBeUndefined();
  expect(questions.take(key, "commit")).toMatchObject({ about: 1 });
  expect(questions.take(key, "commit")).toBeUndefined();
  const first = put();
  for (let at = 0; at < 64; at += 1) put();
  expect(questions.take(first, "commit")).toBeUndefined();
});
