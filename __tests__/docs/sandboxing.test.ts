/** The matrix in docs/sandboxing.md is what the tests of promises expect; `-u` writes it anew. */

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

import { kRuntimeNames } from "../../lib/runtime/runtime.js";
import { type Keeping, kMatrix, kPromiseNames } from "../integration/promises/matrix.js";

const kPage = fileURLToPath(new URL("../../docs/sandboxing.md", import.meta.url));
const kMarked = /(<!-- The matrix [^\n]* -->\n\n)[^<]*(\n<!-- End of the matrix -->)/;

function cell(keeping: Keeping): string {
  if (keeping.is === "not") return keeping.why === "" ? "**not**" : `**not**: ${keeping.why}`;
  const needs = keeping.needs?.map((need) => (need.includes(" ") ? need : `\`${need}\``));
  const note = keeping.note ?? "";
  const words = needs === undefined ? note : `needs ${needs.join(" or ")}${note && ` (${note})`}`;
  return words === "" ? "**kept**" : `**kept**: ${words}`;
}

const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |\n`;

function table(): string {
  const names = kRuntimeNames.map((name) => (name === "firejail" ? "firejail, no profile" : name));
  const head = line(["promise", ...names]) + line(["promise", ...names].map(() => "---"));
  const rows = kPromiseNames.map((name) => {
    const { title, ...runtimes } = kMatrix[name];
    return line([title, ...kRuntimeNames.map((runtime) => cell(runtimes[runtime]))]);
  });
  return head + rows.join("");
}

test("the page has the matrix, as the suites prove it", async () => {
  const page = readFileSync(kPage, "utf8");
  expect(page).toMatch(kMarked);
  await expect(page.replace(kMarked, (_, begin, end) => begin + table() + end)).toMatchFileSnapshot(
    kPage,
  );
});
