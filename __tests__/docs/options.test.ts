/** The tables of docs/options.md are the rows of lib/options.ts. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

import { kRoot } from "../support/run-tsc.js";

type Script = {
  optionTables(): Promise<Record<string, string>>;
  withTables(page: string, tables: Record<string, string>): string;
};

const kScript = join(kRoot, "scripts/checks/options-table.mjs");
const { optionTables, withTables }: Script = await import(kScript);
const page = readFileSync(join(kRoot, "docs/options.md"), "utf8");

it("the page has the options; else: node scripts/checks/options-table.mjs --write", async () => {
  expect(page).toBe(withTables(page, await optionTables()));
});

it("has a line for each option, with its default", async () => {
  const { bubblewrap = "" } = await optionTables();
  expect(bubblewrap).toContain("| `devBind` | `true` | a minimal `/dev` |\n");
  expect(bubblewrap).toContain("| `prewarmIdleMs` | 60,000 |");
});

it("control: another table is seen, and a page without one is an error", () => {
  expect(withTables(page, { landlock: "another\n" })).not.toBe(page);
  expect(() => withTables("no table", { landlock: "" })).toThrow("has no <!-- options: landlock");
});
