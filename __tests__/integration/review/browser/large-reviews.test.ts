/** As large as reviews are, and for everybody: thousands of changes, large files, zoom, screen readers. */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { run } from "../../support/results.js";
import { project } from "../../support/transactions.js";
import { Api, type Served, served } from "../review-server.js";
import {
  articleOf,
  boxOf,
  commit,
  describeInBrowser,
  open,
  said,
  seriousFindings,
  useBrowser,
  visit,
} from "./browser.js";

async function comment(at: Served, place: object, isResolved = false): Promise<void> {
  const api = new Api(at);
  const { id } = (await api.post("comments", { ...place, text: "why?" })).json<{ id: string }>();
  if (isResolved) await api.patch("comments", { id, isResolved });
}

describeInBrowser("a large review in a browser", () => {
  useBrowser();

  test("5,000 changes are shown, folded, chosen and committed", async () => {
    const at = await served(project());
    await run(
      at.transaction,
      "for d in $(seq 1 50); do mkdir -p src/d$d; for f in $(seq 1 99); do echo $f > src/d$d/$f.txt; done; done",
    );
    const { page, complaints } = await visit(at);
    await expect.poll(() => page.locator(".row").count()).toBe(5001); // 51 of them directories
    await page.locator("article").first().waitFor();
    expect(await page.locator("article").count()).toBeLessThan(60);
    expect(await page.locator(".slot").count()).toBeLessThan(400);
    await page.keyboard.press("End");
    await articleOf(page, "src/d9/99.txt").waitFor(); // the last by name
    expect(await page.locator("article").count()).toBeLessThan(60);
    await open(page, "src/d50/99.txt");
    expect(await page.locator("article").count()).toBeLessThan(60);
    await page.locator('.row[data-path="src/d1"] button.fold').click();
    await expect.poll(() => page.locator(".row").count()).toBe(5001 - 99);
    await boxOf(page, "src").check();
    await page.getByRole("button", { name: /^Commit 4,950 changes/ }).waitFor();
    await boxOf(page, "src/d2/1.txt").uncheck();
    await commit(page);
    await said(page).toContain("Committed 4,949 changes; 1 change left.");
    expect(readFileSync(join(at.workspace, "src/d50/99.txt"), "utf8")).toBe("99\n");
    expect(complaints).toEqual([]);
  }, 120_000);

  test("a file of 2 MB is shown, and its hunks are taken", async () => {
    const workspace = project();
    const lines = Array.from(
      { length: 40_000 },
      (_, at) => `const value${at} = "a line of some length ${at}";`,
    );
    writeFileSync(join(workspace, "large.js"), `${lines.join("\n")}\n`);
    const at = await served(workspace);
    const after = lines.map((line, number) => (number % 10_000 === 5 ? `${line} // other` : line));
    await at.transaction.files.write("large.js", `${after.join("\n")}\n`);
    const { page, complaints } = await visit(at);
    await open(page, "large.js");
    const hunks = articleOf(page, "large.js").locator(".hunks").getByRole("checkbox");
    await expect.poll(() => hunks.count()).toBe(4);
    expect(await page.locator(".cm-line").count()).toBeLessThan(2000);
    await hunks.nth(3).check();
    await commit(page);
    await said(page).toContain("Committed 1 change");
    const committed = readFileSync(join(workspace, "large.js"), "utf8").split("\n");
    expect(committed.filter((line) => line.endsWith("// other"))).toHaveLength(1);
    expect(committed[30_005]).toBe(after[30_005]);
    expect(complaints).toEqual([]);
  }, 60_000);

  test("one that has nothing in common with what it was, too", async () => {
    const workspace = project();
    const text = (seed: number) =>
      Array.from(
        { length: 30_000 },
        (_, at) => `${((at * seed) % 99_991) * 7919} and some words`,
      ).join("\n");
    writeFileSync(join(workspace, "other.txt"), text(31));
    const at = await served(workspace);
    await at.transaction.files.write("other.txt", text(57));
    const { page } = await visit(at);
    await open(page, "other.txt");
    await page.locator(".cm-changedLine").first().waitFor();
    await page.keyboard.press("u");
    await page.locator(".cm-deletedChunk, .cm-insertedLine, .cm-changedLine").first().waitFor();
  }, 60_000);

  test.each([
    ["light", { colorScheme: "light" }],
    ["dark", { colorScheme: "dark" }],
    ["on a light phone", { colorScheme: "light", viewport: { width: 390, height: 844 } }],
    ["on a dark phone", { colorScheme: "dark", viewport: { width: 390, height: 844 } }],
    ["at 400 % zoom", { viewport: { width: 320, height: 256 } }],
    ["with forced colours and no motion", { forcedColors: "active", reducedMotion: "reduce" }],
  ] as const)("a checker of accessibility finds nothing serious (%s)", async (_, options) => {
    const workspace = project();
    const at = await served(workspace);
    await run(
      at.transaction,
      "printf 'one\nmore\n' > a.txt; echo x > b.sh; echo '<svg xmlns=\"http://www.w3.org/2000/svg\"/>' > i.svg; mkdir .vscode; echo {} > .vscode/tasks.json; rm gone.txt",
    );
    await comment(at, { path: "a.txt", side: "after", line: 1, lineText: "one" });
    await comment(at, { path: "a.txt", side: "before", line: 1, lineText: "other" });
    await comment(at, { path: "i.svg", side: "after" }, true);
    const { page } = await visit(at, options);
    expect(await seriousFindings(page)).toEqual([]);
    for (const path of ["a.txt", "i.svg", ".vscode/tasks.json", "gone.txt"]) {
      await open(page, path);
      await articleOf(page, path).locator(".cm-content").first().waitFor();
      expect(await seriousFindings(page), path).toEqual([]);
      if (path !== "a.txt") continue;
      await page.keyboard.press("m");
      await page.keyboard.press("Enter");
      await page.locator("textarea:focus").waitFor();
      expect(await page.locator(".diff .comment").count()).toBe(1);
      expect(await seriousFindings(page), "while a comment is written").toEqual([]);
      await page.keyboard.press("Escape");
    }
    await page.keyboard.press("u");
    await page.keyboard.press("a");
    expect(await seriousFindings(page)).toEqual([]);
    await page.keyboard.press("c");
    await page.getByRole("dialog").waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    // Nothing is cut off at the side: that would need scrolling in two directions.
    const width = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
    expect(await page.evaluate(width)).toBe(0);
  });
});
