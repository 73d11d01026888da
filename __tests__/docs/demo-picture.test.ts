/** The picture of the demo that README shows, and how it is drawn. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

import { pictureOf } from "../../scripts/demo/picture.mjs";
import { kRoot } from "../support/run-tsc.js";

const textsOf = (svg: string) =>
  [...svg.matchAll(/<text x="([\d.]+)"[^>]*>([^<]*)<\/text>/g)].map(([, x, text]) => ({ x, text }));

it("escapes what would be markup", () => {
  const svg = pictureOf("a < b && c > d", "<title>");
  expect(textsOf(svg).map(({ text }) => text)).toEqual(["a &lt; b &amp;&amp; c &gt; d"]);
  expect(svg).toContain("<title>&lt;title&gt;</title>");
});

it("colours what is coloured, and goes back", () => {
  const svg = pictureOf("plain \u001b[32mgood\u001b[39m plain", "");
  expect(svg.match(/style=/g)).toHaveLength(1);
  expect(svg).toMatch(/style="fill:#5fd38d">good</);
});

it("refuses a code that it can't draw", () => {
  expect(() => pictureOf("\u001b[35mpurple\u001b[39m", "")).toThrow("code 35");
});

it("draws frames as lines, and keeps the columns of the words between them", () => {
  const svg = pictureOf("┌──┬──┐\n│ab│cd│\n└──┴──┘\n ab cd", "");
  expect(svg).not.toMatch(/[│─┌┬┐└┴┘]/);
  const [ab, cd, both] = textsOf(svg);
  expect([ab?.text, cd?.text, both?.text]).toEqual(["ab", "cd", "ab cd"]);
  expect(ab?.x).toBe(both?.x);
});

it("shows in README a demo in which everything was contained, and nothing of a machine", () => {
  const svg = readFileSync(join(kRoot, "docs/pictures/demo.svg"), "utf8");
  const words = textsOf(svg).map(({ text }) => text);
  expect(words.filter((word) => word === "contained").length).toBeGreaterThanOrEqual(10);
  expect(words).toContain("processes left over: none");
  expect(words.join("\n")).not.toMatch(/NOT HELD|\/(tmp|home|root|work)\b/);
});
