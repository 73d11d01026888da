/** Every example of README, CONTRIBUTING and docs/ does what the page says. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

import { kRoot } from "../../support/run-tsc.js";
import { describeSandboxed, testUnless } from "../support/requirements.js";
import { whyNoSkillFromC } from "../support/skills.js";
import { type Block, blocksOf, examplesOf } from "./code-blocks.js";
import { runExample } from "./run-example.js";

const kPages = [
  "README.md",
  "CONTRIBUTING.md",
  ...readdirSync(join(kRoot, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`)
    .sort(),
];

const pages = kPages.map((page) => blocksOf(page, readFileSync(join(kRoot, page), "utf8")));

describe("blocks that are not run", () => {
  const marked = pages.flat().filter(({ directives }) => directives.has("not run"));

  test("say why", () => {
    for (const { page, line, directives } of marked) {
      const reason = directives.get("not run") ?? "";
      process.stdout.write(`not run: ${page}:${line}: ${reason}\n`);
      expect(reason.split(" ").length, `${page}:${line}: a reason`).toBeGreaterThanOrEqual(3);
    }
  });
});

/** `needs: NAME`, of what not every machine has: why it is missing here. */
const kNeeds: Record<string, string | undefined> = { wasi: whyNoSkillFromC };

function whyNot(example: readonly Block[]): string | undefined {
  for (const { page, line, directives } of example) {
    const need = directives.get("needs");
    if (need === undefined) continue;
    if (!Object.hasOwn(kNeeds, need)) throw new Error(`${page}:${line}: unknown need ${need}`);
    if (kNeeds[need] !== undefined) return kNeeds[need];
  }
  return undefined;
}

describeSandboxed("examples", () => {
  const examples = pages
    .flatMap((blocks) => examplesOf(blocks))
    .map((blocks) => blocks.filter(({ directives }) => !directives.has("not run")));
  for (const example of examples) {
    const [first] = example;
    if (first === undefined) continue;
    const title = `${first.page}:${first.line}: ${example.map(({ language }) => language)}`;
    testUnless(whyNot(example), title, () => runExample(example));
  }
});
