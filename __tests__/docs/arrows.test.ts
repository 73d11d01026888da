/** The table of arrows in docs/architecture.md is what `npm run lint` checks. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

import { kRoot } from "../support/run-tsc.js";

type Arrows = { arrowsTable(): string; withTable(page: string, table: string): string };

const kScript = join(kRoot, "scripts/checks/arrows-table.mjs");
const { arrowsTable, withTable }: Arrows = await import(kScript);
const page = readFileSync(join(kRoot, "docs/architecture.md"), "utf8");

it("the page has the arrows; else: node scripts/checks/arrows-table.mjs --write", () => {
  expect(page).toBe(withTable(page, arrowsTable()));
});

it("has a line for each folder, with the folders that it may use", () => {
  const lines = arrowsTable().split("\n");
  expect(lines).toContain("| `protocol` | `all` |  |  |");
  expect(lines).toContain("| `supervise` | `streams` | `os` | `policy`, `protocol` |");
});

it("control: another table is seen, and a page without one is an error", () => {
  expect(withTable(page, "another\n")).not.toBe(page);
  expect(() => withTable("no table", "")).toThrow("has no <!-- table: arrows -->");
});
