/** Comments on lines and files, in a real browser. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { expect, test } from "vitest";

import { run } from "../../support/results.js";
import { project } from "../../support/transactions.js";
import { type Served, served } from "../review-server.js";
import { articleOf, describeInBrowser, open, rowOf, useBrowser, visit } from "./browser.js";

const kPhone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };
const lines = (count: number) => Array.from({ length: count }, (_, at) => `line ${at + 1}`);

/** A file of sixty lines, of which the eleventh is other and two are removed. */
async function longFile(): Promise<{ at: Served; after: string[] }> {
  const workspace = project();
  const before = lines(60);
  writeFileSync(join(workspace, "long.txt"), `${before.join("\n")}\n`);
  const at = await served(workspace);
  const after = [...before];
  after[10] = "eleventh";
  after.splice(40, 2);
  await write(at, after);
  return { at, after };
}

const write = ({ transaction }: Served, text: readonly string[]) =>
  transaction.files.write("long.txt", `${text.join("\n")}\n`);

/** The line of an editor that has this text. */
const lineOf = (editor: Locator, text: string) =>
  editor
    .locator(".cm-line, .cm-deletedChunk .cm-deletedLine")
    .filter({ hasText: new RegExp(`^${text}$`) });

/** Points at a line, presses its "+", and writes. */
async function comment(page: Page, editor: Locator, on: string, text: string): Promise<void> {
  await lineOf(editor, on).hover();
  await editor.getByRole("button", { name: /^comment on line/ }).click();
  await page.locator("textarea:focus").fill(text);
  await page.keyboard.press("Control+Enter");
  await page.getByText(text, { exact: true }).waitFor();
  await page.locator("textarea").waitFor({ state: "detached" }); // the event may come before the answer
}

/** Expects a comment directly below a line. */
async function expectBelow(comment: Locator, line: Locator): Promise<void> {
  await expect
    .poll(async () => {
      const [above, below] = [await line.boundingBox(), await comment.boundingBox()];
      return Math.round((below?.y ?? 0) - (above?.y ?? 0) - (above?.height ?? 0));
    })
    .toSatisfy((gap: number) => gap >= 0 && gap < 20);
}

const cardOf = (page: Page, text: string) =>
  page.locator(".comment").filter({ has: page.getByText(text, { exact: true }) });

describeInBrowser("comments in a browser", () => {
  useBrowser();

  test("are below their lines on either side, also after a reload; edited, resolved, deleted", async () => {
    const { at } = await longFile();
    const { page, complaints } = await visit(at);
    const article = articleOf(page, "long.txt");
    const [before, after] = [article.locator(".cm-merge-a"), article.locator(".cm-merge-b")];
    await comment(page, before, "line 11", "was right");
    await comment(page, after, "eleventh", "<b>why</b> this?");
    const check = async () => {
      await expectBelow(cardOf(page, "was right"), lineOf(before, "line 11"));
      await expectBelow(cardOf(page, "<b>why</b> this?"), lineOf(after, "eleventh"));
      expect(await article.locator(".thread b").count()).toBe(0);
      // What follows is side by side, as before.
      const tops = [before, after].map(
        async (side) => (await lineOf(side, "line 12").boundingBox())?.y,
      );
      const [left, right] = await Promise.all(tops);
      expect(Math.abs((left ?? 0) - (right ?? 9))).toBeLessThan(2);
    };
    await check();
    await page.reload();
    await article.locator(".comment").first().waitFor();
    await check();
    expect(await rowOf(page, "long.txt").textContent()).toContain("2 open comments");
    expect(await article.locator(".file").textContent()).toContain("2 comments");
    await page.locator("header").getByText("2 open comments").waitFor();
    const own = cardOf(page, "was right");
    await own.getByRole("button", { name: "Edit" }).click();
    await expect.poll(() => page.locator("textarea:focus").inputValue()).toBe("was right");
    await page.locator("textarea:focus").fill("was better");
    await page.getByRole("button", { name: "Save" }).click();
    await cardOf(page, "was better").getByRole("button", { name: "Resolve" }).click();
    await expect.poll(() => rowOf(page, "long.txt").textContent()).toContain("1 open comment");
    expect(await at.review.comments()).toMatchObject([
      { path: "long.txt", side: "before", line: 11, text: "was better", isResolved: true },
      { path: "long.txt", side: "after", line: 11, lineText: "eleventh", isResolved: false },
    ]);
    await before.locator("details summary").click();
    await before.getByRole("button", { name: "Open again" }).click();
    await before.getByRole("button", { name: "Delete" }).click();
    expect(await at.review.comments()).toHaveLength(2);
    await before.getByRole("button", { name: "Delete it" }).click();
    await expect.poll(() => before.locator(".comment").count()).toBe(0);
    expect(await at.review.comments()).toHaveLength(1);
    expect(complaints).toEqual([]);
  });

  test("are outdated, at the top with their line, when a command changes it; and never move", async () => {
    const { at, after } = await longFile();
    const { page } = await visit(at);
    const article = articleOf(page, "long.txt");
    await comment(page, article.locator(".cm-merge-b"), "eleventh", "why?");
    await write(at, ["new first", ...after]);
    await article.getByText("outdated").waitFor();
    await lineOf(article.locator(".cm-merge-b"), "new first").waitFor();
    expect(await article.locator(".diff .comment").count()).toBe(0);
    const card = cardOf(page, "why?");
    expect(await card.textContent()).toMatch(/^line 11 +outdated/);
    expect(await card.locator(".quoted").innerText()).toContain("eleventh");
    expect(await rowOf(page, "long.txt").textContent()).toContain("1 open comment");
    await write(at, after);
    await expectBelow(card, lineOf(article.locator(".cm-merge-b"), "eleventh"));
    // It is not lost either when its file is committed.
    await page.keyboard.press("a");
    await page.keyboard.press("c");
    await page.getByRole("dialog").getByRole("button", { name: "Commit" }).click();
    const lone = page.getByRole("region", { name: "not changed any more" });
    await lone.getByText("why?").waitFor();
    expect(await lone.innerText()).toContain("long.txt");
  });

  test("are written in the unified view too, on removed lines and where lines are folded", async () => {
    const { at } = await longFile();
    const { page } = await visit(at);
    const article = articleOf(page, "long.txt");
    await article.locator(".cm-merge-b").waitFor();
    await article.locator(".cm-collapsedLines").nth(1).click();
    await comment(page, article.locator(".cm-merge-a"), "line 30", "an old line that is the same");
    await page.keyboard.press("u");
    const unified = article.locator(".cm-merge-b");
    await unified.locator(".cm-deletedChunk").first().waitFor();
    await expectBelow(cardOf(page, "an old line that is the same"), lineOf(unified, "line 30"));
    await comment(page, unified, "line 42", "why are these two gone?");
    await expectBelow(cardOf(page, "why are these two gone?"), lineOf(unified, "line 42"));
    expect(await at.review.comments()).toMatchObject([
      { side: "before", line: 30, lineText: "line 30" },
      { side: "before", line: 42, lineText: "line 42" },
    ]);
    await page.reload(); // what was folded is open where there is a comment
    await expectBelow(
      cardOf(page, "an old line that is the same"),
      lineOf(article.locator(".cm-merge-a"), "line 30"),
    );
  });

  test("are on whole files too: binary, deleted, of another mode", async () => {
    const at = await served(project());
    await run(at.transaction, "printf 'x\\0y' > b.bin; rm gone.txt; chmod +x a.txt");
    const { page } = await visit(at);
    for (const path of ["b.bin", "gone.txt", "a.txt"]) {
      await articleOf(page, path)
        .getByRole("button", { name: `Comment on ${path}` })
        .click();
      await page.locator("textarea:focus").fill(`why ${path}?`);
      await page.getByRole("button", { name: "Comment", exact: true }).click();
      await articleOf(page, path).getByText(`why ${path}?`).waitFor();
    }
    expect(await at.review.comments()).toMatchObject([
      { path: "b.bin", side: "after", isOutdated: false },
      { path: "gone.txt", side: "before", isOutdated: false },
      { path: "a.txt", side: "after", isOutdated: false },
    ]);
    expect((await at.review.comments()).some((each) => "line" in each)).toBe(false);
  });

  test("are written by the keyboard alone", async () => {
    const { at } = await longFile();
    const { page } = await visit(at);
    await page.keyboard.press("j");
    const after = articleOf(page, "long.txt").locator(".cm-merge-b");
    await lineOf(after, "eleventh").waitFor();
    await page.keyboard.press("m");
    const plus = after.getByRole("button", { name: /^comment on line/ });
    const at11 = () => expect.poll(() => plus.getAttribute("aria-label"));
    await at11().toBe("comment on line 11");
    await page.keyboard.press("ArrowDown");
    await at11().toBe("comment on line 12");
    await page.keyboard.press("Enter");
    await page.locator("textarea:focus").waitFor();
    await page.keyboard.type("no: j, x and u");
    await page.keyboard.press("Escape");
    await expect.poll(() => page.locator("textarea").count()).toBe(0);
    expect(await at.review.comments()).toEqual([]);
    await page.keyboard.press("ArrowUp"); // the editor has the focus again
    await at11().toBe("comment on line 11");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter"); // the button itself
    await page.locator("textarea:focus").waitFor();
    await page.keyboard.type("why?");
    await page.keyboard.press("Control+Enter");
    await cardOf(page, "why?").waitFor();
    expect(await at.review.comments()).toMatchObject([
      { line: 11, lineText: "eleventh", text: "why?" },
    ]);
    await page.keyboard.press("?");
    await page.getByRole("dialog").getByText("Enter writes").waitFor();
  });

  test("on a phone, begin with a tap at the line's number", async () => {
    const { at } = await longFile();
    const { page } = await visit(at, kPhone);
    await rowOf(page, "long.txt").locator("button.name").tap();
    const editor = articleOf(page, "long.txt").locator(".cm-editor");
    await lineOf(editor, "eleventh").waitFor();
    await editor.locator(".cm-lineNumbers .cm-gutterElement", { hasText: /^11$/ }).tap();
    const form = page.locator("form.write");
    await form.locator("textarea:focus").fill("from a phone");
    await form.getByRole("button", { name: "Comment", exact: true }).tap();
    await expectBelow(cardOf(page, "from a phone"), lineOf(editor, "eleventh"));
    const width = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
    expect(await page.evaluate(width)).toBe(0);
    await lineOf(editor, "line 11").tap(); // a removed line has no number
    await editor.getByRole("button", { name: "comment on line 11 before" }).tap();
    await page.locator("textarea:focus").waitFor();
  });

  test("what is being written stays, scrolled away, changed, and refused", async () => {
    const at = await served(project());
    await run(
      at.transaction,
      "for i in $(seq 10 99); do seq 40 > f$i.txt; done; echo mine > a.txt",
    );
    const { page } = await visit(at);
    const article = articleOf(page, "f10.txt");
    await open(page, "f10.txt");
    await lineOf(article, "3").hover();
    await article.getByRole("button", { name: "comment on line 3" }).click();
    await page.locator("textarea:focus").fill("half a thou");
    await page.evaluate("scrollTo(0, document.body.scrollHeight)");
    await expect.poll(() => page.locator("textarea").count()).toBe(0);
    await open(page, "f10.txt");
    const text = () => expect.poll(() => article.locator("textarea").inputValue());
    await article.locator("textarea").waitFor();
    await text().toBe("half a thou");
    await run(at.transaction, "echo new > f10.txt"); // there is no line 3 any more
    await article.getByText("line 3").waitFor();
    await text().toBe("half a thou");
    await article.locator("textarea").fill("half a thought");
    await at.transaction.exec({ argv: ["rm", "f10.txt"] });
    const lone = page.getByRole("region", { name: "not changed any more" });
    await lone.locator("textarea").waitFor();
    expect(await lone.locator("textarea").inputValue()).toBe("half a thought");
    await lone.getByRole("button", { name: "Comment", exact: true }).click();
    await lone.getByRole("alert").getByText("there is no such change any more").waitFor();
    expect(await lone.locator("textarea").inputValue()).toBe("half a thought");
    await run(at.transaction, "seq 40 > f10.txt"); // it is there again, and so is the line
    await expect.poll(() => article.locator(".diff textarea").count()).toBe(1);
    await article.getByRole("button", { name: "Comment", exact: true }).click();
    await expectBelow(cardOf(page, "half a thought"), lineOf(article, "3"));
  });

  test("of one page are shown by another at once", async () => {
    const { at } = await longFile();
    const [one, other] = [await visit(at), await visit(at)];
    const editor = articleOf(one.page, "long.txt").locator(".cm-merge-b");
    await comment(one.page, editor, "eleventh", "why?");
    await cardOf(other.page, "why?").waitFor();
  });
});
