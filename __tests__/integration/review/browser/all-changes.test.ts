/** All changes one below the other, beside their tree; on a phone, each where it is tapped. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { run } from "../../support/results.js";
import { project } from "../../support/transactions.js";
import { served } from "../review-server.js";
import {
  articleOf,
  boxOf,
  commit,
  describeInBrowser,
  open,
  rowOf,
  said,
  useBrowser,
  visit,
} from "./browser.js";

/** What the page's code has that this file's has not. */
type Window = {
  getComputedStyle(of: unknown): { backgroundColor: string; textDecorationLine: string };
};
const kPhone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };

describeInBrowser("all changes in a browser", () => {
  useBrowser();

  test("are one below the other, each with its lines, and its header stays in sight", async () => {
    const at = await served(project());
    await run(
      at.transaction,
      "printf 'a\\nb\\nc\\n' > a.txt; rm gone.txt; mkdir d; seq 200 > d/long.txt; : > empty",
    );
    const { page, complaints } = await visit(at);
    await expect.poll(() => page.locator(".slot").count()).toBe(4);
    const lines = (path: string) =>
      expect.poll(() => articleOf(page, path).locator(".lines").textContent());
    await lines("d/long.txt").toBe("+200 −0 lines");
    await page.evaluate("scrollTo(0, 1500)");
    const header = () => articleOf(page, "d/long.txt").locator(".file").boundingBox();
    const pageHeader = await page.locator("header").boundingBox();
    await expect.poll(async () => (await header())?.y).toBe(pageHeader?.height);
    await open(page, "a.txt");
    await lines("a.txt").toBe("+3 −1 lines");
    await open(page, "gone.txt");
    await lines("gone.txt").toBe("+0 −1 lines");
    await open(page, "empty");
    await articleOf(page, "empty").getByText("Its content is empty").waitFor();
    expect(complaints).toEqual([]);
  });

  test("one that is viewed is folded, also after a reload, until it changes", async () => {
    const at = await served(project());
    await run(at.transaction, "echo mine > a.txt; echo mine > b.txt");
    const { page } = await visit(at);
    const viewed = articleOf(page, "a.txt").getByRole("checkbox", { name: /^Viewed/ });
    await articleOf(page, "a.txt").locator(".cm-content").first().waitFor();
    await viewed.check();
    await expect.poll(() => articleOf(page, "a.txt").locator(".cm-content").count()).toBe(0);
    await page.locator("header").getByText("1 of 2 viewed").waitFor();
    await page.reload();
    await page.locator("header").getByText("1 of 2 viewed").waitFor();
    await articleOf(page, "b.txt").locator(".cm-content").first().waitFor();
    expect(await articleOf(page, "a.txt").locator(".cm-content").count()).toBe(0);
    await run(at.transaction, "echo other > a.txt");
    await page.locator("header").getByText("0 of 2 viewed").waitFor();
    await articleOf(page, "a.txt").locator(".cm-content").first().waitFor();
    expect(await viewed.isChecked()).toBe(false);
  });

  test("a count is the same everywhere, and a filter says of how many", async () => {
    const at = await served(project());
    await run(
      at.transaction,
      "mkdir -p one/two; for i in 1 2 3; do echo $i > one/two/f$i.txt; done; echo x > a.txt",
    );
    const { page } = await visit(at);
    await page.getByRole("heading", { name: /^4 changes to/ }).waitFor();
    await expect.poll(() => page.locator(".slot").count()).toBe(4);
    expect(await rowOf(page, "one/two").locator(".count").textContent()).toBe("3");
    const filter = page.getByRole("searchbox", { name: "filter by name" });
    await filter.fill("TWO f1");
    await page.getByText("1 of 4 changes").waitFor();
    await expect.poll(() => page.locator(".slot").count()).toBe(1);
    await page.getByRole("button", { name: "Choose all, or none" }).click();
    await page.getByRole("button", { name: "Commit 1 change…" }).waitFor();
    await filter.fill("");
    await page.keyboard.press("Escape");
    await boxOf(page, "one").check();
    await boxOf(page, "a.txt").check();
    await page.getByRole("button", { name: "Commit 4 changes…" }).waitFor();
    await commit(page);
    await said(page).toBe("Committed 4 changes.");
  });

  test("changed words are marked, lines that are new as a whole are not", async () => {
    const workspace = project();
    writeFileSync(join(workspace, "a.txt"), "a line of words\nthe same\n");
    const at = await served(workspace);
    await at.transaction.files.write("a.txt", "a line of other words\nthe same\na new line\n");
    const { page } = await visit(at);
    const ground = (text: string) =>
      articleOf(page, "a.txt")
        .locator(".cm-merge-b .cm-changedText", { hasText: text })
        .first()
        .evaluate((word) => {
          const { getComputedStyle } = globalThis as unknown as Window;
          const { backgroundColor, textDecorationLine } = getComputedStyle(word);
          return `${backgroundColor} ${textDecorationLine}`;
        });
    await articleOf(page, "a.txt").locator(".cm-changedText").first().waitFor();
    expect(await ground("other")).toBe("rgb(169, 234, 184) none");
    expect(await ground("a new line")).toBe("rgba(0, 0, 0, 0) none");
  });

  test("what a commit deletes is told apart", async () => {
    const at = await served(project());
    await run(at.transaction, "echo mine > a.txt; rm b.txt gone.txt");
    const { page } = await visit(at);
    await page.keyboard.press("a");
    await page.keyboard.press("c");
    const dialog = page.getByRole("dialog");
    const names = (label: string) => dialog.getByRole("list", { name: label }).innerText();
    expect(await names("to be deleted")).toBe("b.txt\ngone.txt");
    expect(await names("to be written")).toBe("a.txt");
    await dialog.getByText("2 paths to be deleted").waitFor();
  });

  test("on a phone, one opens where it is tapped, and Commit stays in sight", async () => {
    const at = await served(project());
    await run(
      at.transaction,
      "mkdir -p d/e; for i in $(seq 40); do echo $i > d/e/$i.txt; done; echo x > d/f.txt",
    );
    const { page } = await visit(at, kPhone);
    const row = rowOf(page, "d/e/7.txt");
    await row.locator("button.name").tap();
    const article = articleOf(page, "d/e/7.txt");
    await article.locator(".cm-content").first().waitFor();
    const below = (await article.boundingBox())?.y ?? 0;
    const { y, height } = (await row.boundingBox()) ?? { y: 0, height: 0 };
    expect(below - (y + height)).toBeGreaterThanOrEqual(0);
    expect(below - (y + height)).toBeLessThan(20);
    expect(await page.locator("article").count()).toBe(1);
    const left = async (path: string) => (await boxOf(page, path).boundingBox())?.x ?? 0;
    expect(await left("d/e/7.txt")).toBeGreaterThan(await left("d/e"));
    expect(await left("d/e")).toBeGreaterThan(await left("d"));
    await page.evaluate("scrollTo(0, 1000)");
    const button = await page.getByRole("button", { name: /^Commit …/ }).boundingBox();
    expect((button?.y ?? 900) + (button?.height ?? 0)).toBeLessThanOrEqual(844);
    await row.locator("button.name").tap();
    await expect.poll(() => page.locator("article").count()).toBe(0);
  });
});
