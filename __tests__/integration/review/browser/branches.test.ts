/** Branches side by side, in a real browser: what each has changed, and a person who takes what is best of them. */

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";

import type { Transaction } from "../../support/package.js";
import { run } from "../../support/results.js";
import { project } from "../../support/transactions.js";
import { servedBranches } from "../served-branches.js";
import {
  articleOf,
  boxOf,
  commit,
  describeInBrowser,
  open,
  rowOf,
  said,
  seriousFindings,
  useBrowser,
  visit,
} from "./browser.js";

const kSum = "export const sum = (a, b) => a - b;\n";
const kPhone = { viewport: { width: 390, height: 844 } };

/** Three fixes: a small one, the same with more beside it, and one of several files. */
async function scene() {
  const workspace = project();
  writeFileSync(join(workspace, "sum.js"), kSum);
  const at = await servedBranches(workspace, [
    "sed -i 's/a - b/a + b/' sum.js",
    "sed -i 's/a - b/a + b/' sum.js; rm gone.txt; echo notes > notes",
    "echo 'export * from \"./src/add.js\";' > sum.js; mkdir -p src; seq 20 > src/add.js; mkdir .vscode; echo {} > .vscode/tasks.json",
  ]);
  return { ...at, branches: at.branches as [Transaction, Transaction, Transaction] };
}

const card = (page: Page, { id }: Transaction) => page.locator(`.card[data-branch="${id}"]`);
const column = (page: Page, path: string, { id }: Transaction) =>
  articleOf(page, path).locator(`.column[data-branch="${id}"]`);
const marks = (page: Page, path: string) =>
  rowOf(page, path).locator(".marks abbr").allTextContents();

/** Confirms what the page asks. */
const confirm = (page: Page, name: string | RegExp) =>
  page.getByRole("dialog").getByRole("button", { name }).click();

describeInBrowser("branches in a browser", () => {
  useBrowser();

  test("are columns: names, tests, lines; who changes what; each file side by side", async () => {
    const at = await scene();
    const [one, two, three] = at.branches;
    const { page, complaints } = await visit(at);
    await expect.poll(() => card(page, three).locator(".lines .good").textContent()).toBe("+22");
    expect(await page.locator(".card h2").allTextContents()).toEqual(["way 1", "way 2", three.id]);
    expect(await card(page, one).locator(".tag").textContent()).toBe("tests pass");
    expect(await card(page, two).locator(".tag").textContent()).toBe("tests fail");
    expect(await card(page, three).locator(".tag").count()).toBe(0);
    expect(await card(page, two).locator("p").first().textContent()).toBe("3 changes +2 −2 lines");
    expect(await marks(page, "sum.js")).toEqual(["M", "M", "M"]);
    expect(await marks(page, "gone.txt")).toEqual(["·", "D", "·"]);
    expect(await marks(page, "src/add.js")).toEqual(["·", "·", "A"]);
    await open(page, "sum.js");
    await column(page, "sum.js", one).locator(".cm-content").waitFor();
    await column(page, "sum.js", three).locator(".cm-content").waitFor();
    expect(await column(page, "sum.js", one).locator(".cm-content").textContent()).toContain(
      "a + b",
    );
    await column(page, "sum.js", two).getByText("the same as in way 1").waitFor();
    await open(page, "notes");
    await column(page, "notes", one).getByText("not changed").waitFor();
    // What a command changes meanwhile is shown.
    await run(one, "echo more > more");
    await rowOf(page, "more").waitFor();
    expect(await marks(page, "more")).toEqual(["A", "·", "·"]);
    expect(complaints).toEqual([]);
  });

  test("one is taken whole, taken back, another is taken, reviewed and committed", async () => {
    const at = await scene();
    const [one, , three] = at.branches;
    const { page, complaints } = await visit(at);
    await card(page, three)
      .getByRole("button", { name: /^Take all/ })
      .click();
    await confirm(page, "Take all");
    await said(page).toContain(`Took all of ${three.id}.`);
    await page.getByRole("button", { name: "Review and commit 3 changes…" }).waitFor();
    await page.getByRole("button", { name: "Take back" }).click();
    await said(page).toContain("Taken back");
    await card(page, one)
      .getByRole("button", { name: /^Take all/ })
      .click();
    await confirm(page, "Take all");
    await page.getByRole("button", { name: "Review and commit 1 change…" }).click();
    await boxOf(page, "sum.js").check();
    // What is chosen is kept while the branches are looked at.
    await page.getByRole("button", { name: "Compare branches" }).click();
    await card(page, three).waitFor();
    await page.keyboard.press("c");
    await commit(page);
    await said(page).toContain("Committed 1 change");
    expect(readFileSync(join(at.workspace, "sum.js"), "utf8")).toBe(kSum.replace("-", "+"));
    expect(existsSync(join(at.workspace, "src"))).toBe(false);
    expect(complaints).toEqual([]);
  });

  test("files of several are taken; of the same lines a person decides", async () => {
    const at = await scene();
    const [one, two, three] = at.branches;
    const { page, complaints } = await visit(at);
    await open(page, "sum.js");
    await column(page, "sum.js", one).getByRole("button", { name: /^Take/ }).click();
    await confirm(page, "Take");
    await said(page).toContain("Took 1 path of way 1.");
    await boxOf(page, "src").check();
    await boxOf(page, "notes").check();
    await card(page, three)
      .getByRole("button", { name: /^Take 1 chosen/ })
      .click();
    expect(await page.getByRole("dialog").locator("li").allTextContents()).toEqual([
      "src",
      "src/add.js",
    ]);
    await confirm(page, "Take");
    await said(page).toContain(`of ${three.id}.`);
    expect(await at.transaction.files.readText("src/add.js")).toContain("20\n");
    await expect(at.transaction.files.readText("notes")).rejects.toMatchObject({ code: "ENOENT" });
    await column(page, "sum.js", three).getByRole("button", { name: /^Take/ }).click();
    await confirm(page, "Take");
    await page.getByRole("alert").getByText("Nothing was taken").waitFor();
    expect(await at.transaction.files.readText("sum.js")).toBe(kSum.replace("-", "+"));
    await confirm(page, /^Take .*'s$/);
    await said(page).toContain("Took 1 path");
    expect(await at.transaction.files.readText("sum.js")).toContain("export * from");
    expect(await two.files.readText("sum.js")).toBe(kSum.replace("-", "+"));
    expect(complaints).toEqual([]);
  });

  test("on a phone each branch is a tab", async () => {
    const at = await scene();
    const [one, two] = at.branches;
    const { page, complaints } = await visit(at, kPhone);
    expect(await page.getByRole("tab").allTextContents()).toHaveLength(3);
    expect(await page.locator(".card").count()).toBe(1);
    await open(page, "sum.js");
    await column(page, "sum.js", one).locator(".cm-content").waitFor();
    expect(await articleOf(page, "sum.js").locator(".column").count()).toBe(1);
    await page.getByRole("tab", { name: /way 1/ }).press("ArrowRight");
    await column(page, "sum.js", two).locator(".cm-content").waitFor();
    await card(page, two)
      .getByRole("button", { name: /^Take all/ })
      .click();
    await confirm(page, "Take all");
    await said(page).toContain("Took all of way 2.");
    expect(complaints).toEqual([]);
  });

  test("three branches of 5,000 changes each are shown and taken", async () => {
    const make = (text: string) =>
      `for d in $(seq 1 50); do mkdir -p src/d$d; for f in $(seq 1 99); do echo ${text}$f > src/d$d/$f.txt; done; done`;
    const at = await servedBranches(project(), [make("a"), make("b"), make("c")]);
    const [, two] = at.branches as [Transaction, Transaction];
    const { page, complaints } = await visit(at);
    await expect.poll(() => page.locator(".row").count()).toBe(5001);
    await page.locator("article").first().waitFor();
    expect(await page.locator("article").count()).toBeLessThan(60);
    await page.keyboard.press("End");
    await articleOf(page, "src/d9/99.txt").waitFor();
    expect(await page.locator("article").count()).toBeLessThan(60);
    await expect.poll(() => card(page, two).locator(".lines").textContent()).toContain("+4,950");
    await card(page, two)
      .getByRole("button", { name: /^Take all/ })
      .click();
    await confirm(page, "Take all");
    await said(page).toContain("Took all of way 2.");
    expect(await at.transaction.files.readText("src/d50/99.txt")).toBe("b99\n");
    expect(complaints).toEqual([]);
  }, 120_000);

  test.each([
    ["light", { colorScheme: "light" }],
    ["dark", { colorScheme: "dark" }],
    ["on a light phone", { colorScheme: "light", ...kPhone }],
    ["on a dark phone", { colorScheme: "dark", ...kPhone }],
    ["at 400 % zoom", { viewport: { width: 320, height: 256 } }],
    ["with forced colours and no motion", { forcedColors: "active", reducedMotion: "reduce" }],
  ] as const)("a checker of accessibility finds nothing serious (%s)", async (_, options) => {
    const at = await scene();
    const { page } = await visit(at, options);
    expect(await seriousFindings(page)).toEqual([]);
    await open(page, "sum.js");
    await articleOf(page, "sum.js").locator(".cm-content").first().waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await boxOf(page, "sum.js").check();
    await page
      .getByRole("button", { name: /^Take 1 chosen/ })
      .first()
      .click();
    await page.getByRole("dialog").waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    const width = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
    expect(await page.evaluate(width)).toBe(0);
  });
});
