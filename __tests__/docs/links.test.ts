/** Links of the pages lead somewhere, and those of pages in the tarball to what is in it too. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, it } from "vitest";

import { kRoot } from "../support/run-tsc.js";

const kMarkdown = /\.md$/;
const kAlwaysPacked = ["package.json", "README.md", "LICENSE"];

const read = (page: string): string => readFileSync(join(kRoot, page), "utf8");

const packed: string[] = [...kAlwaysPacked, ...JSON.parse(read("package.json")).files];

const pages = [
  "README.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  ...readdirSync(join(kRoot, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => kMarkdown.test(name))
    .map((name) => `docs/${name}`),
];

const isPacked = (file: string): boolean =>
  packed.some((entry) => file === entry || file.startsWith(`${entry}/`));

/** The text without its code, in which brackets mean something else. */
const proseOf = (text: string): string =>
  text.replace(/^ *(```+|~~~+)[\s\S]*?^ *\1$/gm, "").replace(/`[^`\n]*`/g, "`");

/** The links and pictures of a page, but for those to other sites. */
function linksOf(text: string): string[] {
  const links = [...proseOf(text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => link);
  return links.filter((link) => !/^[a-z]+:/.test(link));
}

/** The anchors of a page, as GitHub makes them of its headings. */
function anchorsOf(text: string): string[] {
  const headings = text.replace(/^ *(```+|~~~+)[\s\S]*?^ *\1$/gm, "").matchAll(/^#+ (.*)$/gm);
  return [...headings].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

/** What is wrong with a link; undefined when nothing is. */
function faultOf(page: string, link: string): string | undefined {
  const [path = "", anchor] = link.split("#");
  const file = path === "" ? page : normalize(join(dirname(page), path));
  if (!existsSync(join(kRoot, file))) return "there is no such file";
  if (isPacked(page) && !isPacked(file)) return "it is not in the tarball";
  if (anchor !== undefined && !anchorsOf(read(file)).includes(anchor)) return "no such heading";
  return undefined;
}

describe.each(pages)("%s", (page) => {
  it("has links that lead somewhere", () => {
    const faults = linksOf(read(page))
      .map((link) => [link, faultOf(page, link)])
      .filter(([, fault]) => fault !== undefined);
    expect(faults).toEqual([]);
  });
});

describe("control", () => {
  it("finds links, in prose only", () => {
    expect(linksOf("[a](b.md) `[c](d)` ![e](f.svg)\n```\n[g](h)\n```\n[i](https://j)")).toEqual([
      "b.md",
      "f.svg",
    ]);
  });

  it.each([
    ["docs/none.md", "there is no such file"],
    ["CONTRIBUTING.md", "it is not in the tarball"],
    ["docs/README.md#none", "no such heading"],
    ["docs/README.md#using-it", undefined],
  ])("%s: %s", (link, fault) => {
    expect(faultOf("README.md", link)).toBe(fault);
  });
});

it("no page is so long that nobody reads it", () => {
  const long = pages.filter((page) => read(page).split("\n").length > 350);
  expect(long).toEqual([]);
  expect(read("README.md").split("\n").length).toBeLessThanOrEqual(166);
});
