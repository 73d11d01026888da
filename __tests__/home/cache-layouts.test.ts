/** The table of caches keeps to what lib/home/host-caches.ts makes of it. */

import { expect, test } from "vitest";

import { kCacheLayouts } from "../../lib/home/cache-layouts.js";
import { variablesOf } from "../../lib/home/host-caches.js";
import { kWritableVariables } from "../../lib/home/tool-layouts.js";
import { kCacheNames } from "../../lib/options.js";
import { covers } from "../../lib/paths.js";

const places = kCacheLayouts.flatMap((layout) => layout.places);

test("each name of the option has one layout, in the same order", () => {
  expect(kCacheLayouts.map(({ name }) => name)).toEqual(kCacheNames);
});

test("no cache lies in another, inside and in a home with none of the variables set", () => {
  const inside = places.map((place) => `/home/${place.inside}`);
  for (const one of inside) expect(inside.filter((other) => covers(one, other))).toEqual([one]);
});

test("inside, a cache is where it is on the host if no variable is set", () => {
  for (const { host, inside } of places) expect(host.at(-1)).toBe(`~/${inside}`);
});

test("the variables that move a cache name it inside", () => {
  const values = new Map<string, string>();
  for (const { host, inside } of places) {
    const named = variablesOf({ host, inside });
    expect(named.map(([name]) => name)).toEqual(
      host.flatMap((text) => /^\$(\w+)/.exec(text)?.[1] ?? []),
    );
    for (const [at, [name, value]] of named.entries()) {
      expect(host[at]?.replace(`$${name}`, value)).toBe(inside);
      expect(values.get(name) ?? value, name).toBe(value);
      values.set(name, value);
    }
  }
  expect(values.get("CARGO_HOME")).toBe(".cargo");
  expect(values.get("XDG_CACHE_HOME")).toBe(".cache");
  // Others pass only if what they name can be written.
  const read = ["BUN_INSTALL", "PNPM_HOME"]; // tools are found by them too
  const all = [...values.keys()];
  expect(all.filter((each) => !kWritableVariables.includes(each) && !read.includes(each))).toEqual(
    [],
  );
});

test("hidden names are names", () => {
  for (const { hidden = [] } of places)
    for (const name of hidden) expect(name).toMatch(/^[^/\n]+$/);
});
