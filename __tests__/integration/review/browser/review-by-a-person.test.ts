/** A person reviews in a real browser: chooses, commits, undoes, and is told. */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
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

const textIn = (workspace: string, name: string) => readFileSync(join(workspace, name), "utf8");
const lines = (count: number) => Array.from({ length: count }, (_, at) => `line ${at + 1}`);

describeInBrowser("a review in a browser", () => {
  useBrowser();

  test("commits the files that were chosen, and undoes that", async () => {
    const at = await served(project());
    await run(at.transaction, "echo mine > a.txt; echo mine > b.txt; rm gone.txt");
    const { page, complaints } = await visit(at);
    await boxOf(page, "a.txt").check();
    await boxOf(page, "gone.txt").check();
    await commit(page);
    await said(page).toContain("Committed 2 changes; 1 change left");
    expect(textIn(at.workspace, "a.txt")).toBe("mine\n");
    expect(textIn(at.workspace, "b.txt")).toBe("two\n");
    expect(existsSync(join(at.workspace, "gone.txt"))).toBe(false);
    expect(await page.locator(".row").count()).toBe(1);
    await page.getByRole("button", { name: "Undo commit" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Undo" }).click();
    await said(page).toContain("as they were");
    expect(textIn(at.workspace, "a.txt")).toBe("one\n");
    expect(await page.locator(".row").count()).toBe(3);
    expect(complaints).toEqual([]);
  });

  test("is done by the keyboard alone", async () => {
    const at = await served(project());
    await run(at.transaction, "echo mine > a.txt; echo mine > b.txt");
    const { page } = await visit(at);
    await page.keyboard.press("j");
    await page.locator(".cm-content").first().waitFor();
    await page.keyboard.press("x");
    await page.keyboard.press("c");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await said(page).toContain("Committed 1 change");
    expect(textIn(at.workspace, "a.txt")).toBe("mine\n");
    expect(textIn(at.workspace, "b.txt")).toBe("two\n");
    await page.keyboard.press("?");
    await page.getByRole("dialog").getByText("the next hunk").waitFor();
    await page.keyboard.press("Escape");
    expect(await page.getByRole("dialog").count()).toBe(0);
  });

  test("takes hunks, and the others wait", async () => {
    const workspace = project();
    const before = lines(60);
    writeFileSync(join(workspace, "long.txt"), `${before.join("\n")}\n`);
    const at = await served(workspace);
    const after = [...before];
    after[4] = "fifth";
    after.splice(30, 2);
    after.push("one more");
    await at.transaction.files.write("long.txt", `${after.join("\n")}\n`);
    const { page } = await visit(at);
    await open(page, "long.txt");
    const hunks = articleOf(page, "long.txt").locator(".hunks").getByRole("checkbox");
    await expect.poll(() => hunks.count()).toBe(3);
    await hunks.nth(0).check();
    await page.keyboard.press("n");
    await page.keyboard.press("n");
    await page.keyboard.press("t");
    expect(await hunks.nth(2).isChecked()).toBe(true);
    expect(
      await boxOf(page, "long.txt").evaluate(
        (box) => (box as { indeterminate?: boolean }).indeterminate,
      ),
    ).toBe(true);
    await commit(page);
    await said(page).toContain("1 change left");
    const expected = [...before];
    expected[4] = "fifth";
    expect(textIn(workspace, "long.txt")).toBe(`${[...expected, "one more"].join("\n")}\n`);
    await open(page, "long.txt");
    await boxOf(page, "long.txt").check();
    await commit(page);
    await said(page).toContain("Committed 1 change.");
    expect(textIn(workspace, "long.txt")).toBe(`${after.join("\n")}\n`);
  });

  test("shows a conflict, which can't be chosen, and one that comes up meanwhile", async () => {
    const at = await served(project());
    await run(at.transaction, "echo mine > a.txt; echo mine > b.txt");
    await at.transaction.changes();
    writeFileSync(join(at.workspace, "a.txt"), "host\n");
    const { page } = await visit(at);
    await rowOf(page, "a.txt").getByText("conflict").waitFor();
    expect(await boxOf(page, "a.txt").isDisabled()).toBe(true);
    await boxOf(page, "b.txt").check();
    await page.getByRole("button", { name: /^Commit/ }).click();
    writeFileSync(join(at.workspace, "b.txt"), "host\n"); // while it is asked
    await page.getByRole("dialog").getByRole("button", { name: "Commit" }).click();
    await page.getByRole("alert").getByText("the host has changed these too").waitFor();
    expect(await page.getByRole("alert").textContent()).toContain("b.txt");
    expect(textIn(at.workspace, "b.txt")).toBe("host\n");
  });

  test("asks once more for what programs of the host run", async () => {
    const workspace = project();
    mkdirSync(join(workspace, ".git"));
    const at = await served(workspace);
    await run(at.transaction, "mkdir .git/hooks; echo x > .git/hooks/pre-commit");
    const { page } = await visit(at);
    await rowOf(page, ".git/hooks/pre-commit").getByText("protected").waitFor();
    await boxOf(page, ".git/hooks/pre-commit").check();
    await page.getByRole("button", { name: /^Commit/ }).click();
    const dialog = page.getByRole("dialog");
    expect(await dialog.textContent()).toContain("Programs of this host run these");
    await dialog.getByRole("button", { name: "Cancel" }).click();
    expect(existsSync(join(workspace, ".git/hooks"))).toBe(false);
    await commit(page);
    await said(page).toContain("Committed");
    expect(textIn(workspace, ".git/hooks/pre-commit")).toBe("x\n");
  });

  test("is live: what changes is shown, and is not chosen any more", async () => {
    const at = await served(project());
    await run(at.transaction, "echo mine > a.txt");
    const { page } = await visit(at);
    await boxOf(page, "a.txt").check();
    await run(at.transaction, "echo more >> a.txt; echo new > new.txt");
    await rowOf(page, "new.txt").waitFor();
    await said(page).toContain("1 chosen file changed since");
    expect(await boxOf(page, "a.txt").isChecked()).toBe(false);
    // Also while the command still runs.
    const running = run(at.transaction, "echo x > slow.txt; until [ -e go ]; do sleep 0.05; done");
    await rowOf(page, "slow.txt").waitFor();
    await at.transaction.files.write("go", "");
    await running;
    await rowOf(page, "go").waitFor();
  });

  test("shows the commands that made a change: outcome, use, denials", async () => {
    const at = await served(project());
    await at.transaction.exec({
      argv: [
        "sh",
        "-c",
        "echo mine > a.txt; cat /srv/native-runner-none; echo x > /usr/native-runner; exit 4",
      ],
      explain: true,
    });
    const { page } = await visit(at);
    await open(page, "a.txt");
    await articleOf(page, "a.txt").locator(".runs summary").click();
    const reported = (await articleOf(page, "a.txt").locator(".run").textContent()) ?? "";
    expect(reported).toContain("echo mine > a.txt");
    expect(reported).toContain("exited with 4");
    expect(reported).toContain("of CPU");
    if (process.getuid?.() === 0)
      expect(reported).toMatch(/refused openat \/usr\/native-runner EROFS/);
  });

  test("discards after a question, and says that it is over", async () => {
    const at = await served(project());
    await run(at.transaction, "echo mine > a.txt");
    const { page } = await visit(at);
    await page.getByRole("button", { name: "Discard…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
    expect(await at.transaction.changes()).toHaveLength(1);
    await page.getByRole("button", { name: "Discard…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Discard" }).click();
    await said(page).toContain("The transaction was discarded");
    expect(await page.getByRole("button", { name: /^Commit/ }).isDisabled()).toBe(true);
    expect(await at.runner.transactions({ directory: at.state })).toEqual([]);
  });
});
