/** A real browser, headless, which looks at the page. */

import { accessSync, constants } from "node:fs";
import { createRequire } from "node:module";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";

import { kHungMs } from "../../../support/waits.js";
import { describeUnless, whyNoBubblewrap } from "../../support/requirements.js";
import type { Served } from "../review-server.js";

const kChromium = process.env.NATIVE_RUNNER_CHROMIUM ?? "/usr/bin/chromium";

export function whyNoBrowser(): string | undefined {
  try {
    accessSync(kChromium, constants.X_OK);
    return undefined;
  } catch {
    return `there is no ${kChromium}`;
  }
}

/** Where there is a sandbox and a browser; else a reason is printed. */
export const describeInBrowser = (name: string, body: () => void) =>
  describeUnless(whyNoBubblewrap ?? whyNoBrowser(), name, body);

let browser: Browser;

/** For a file's tests. */
export function useBrowser(): void {
  beforeAll(async () => {
    browser = await chromium.launch({
      executablePath: kChromium,
      // Its own sandbox needs what root has not here; what it shows is our own page.
      // The name is one whose owner makes it lead to this machine (DNS rebinding).
      args: [
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--host-resolver-rules=MAP rebound.test 127.0.0.1",
      ],
    });
  }, 60_000);
  afterAll(() => browser?.close());
}

/** A new page of it, which shows an address. */
export async function pageOf(url: string): Promise<Page> {
  const page = await browser.newPage();
  page.setDefaultTimeout(kHungMs);
  await page.goto(url);
  return page;
}

export type Visit = {
  page: Page;
  /** Addresses that were asked for. */
  asked: string[];
  /** What went wrong in the page, or was refused by its policy. */
  complaints: string[];
  /** Alerts and the like: a script of somebody else's. */
  dialogs: string[];
};

export async function visit(
  { review }: Served,
  options: BrowserContextOptions = {},
): Promise<Visit> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(kHungMs); // so that it is reported what is waited for
  const asked: string[] = [];
  const complaints: string[] = [];
  const dialogs: string[] = [];
  page.on("request", (request) => asked.push(request.url()));
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    const isRefusal = /status of (4\d\d)/.test(message.text()); // which the page tells itself
    if (message.type() === "error" && !isRefusal) complaints.push(message.text());
  });
  page.on("dialog", (dialog) => {
    dialogs.push(dialog.message());
    void dialog.dismiss();
  });
  await page.goto(review.url);
  await page.locator("header").waitFor();
  return { page, asked, complaints, dialogs };
}

const escaped = (path: string) =>
  path.replaceAll(/["\\]|\p{Cc}/gu, (character) => `\\${character.charCodeAt(0).toString(16)} `);

/** The row of a change in the tree. */
export const rowOf = (page: Page, path: string) =>
  page.locator(`.row[data-path="${escaped(path)}"]`);
/** The contents of a change, below its header. */
export const articleOf = (page: Page, path: string) =>
  page.locator(`article[data-path="${escaped(path)}"]`);
export const boxOf = (page: Page, path: string) => rowOf(page, path).getByRole("checkbox");

/** Looks at one change. */
export async function open(page: Page, path: string): Promise<void> {
  await rowOf(page, path).locator("button.name").click();
  await articleOf(page, path).waitFor();
}

export async function commit(page: Page): Promise<void> {
  await page.getByRole("button", { name: /^Commit/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Commit" }).click();
}

const axe = createRequire(import.meta.url).resolve("axe-core");

/** What a checker of accessibility finds that is serious, or worse. */
export async function seriousFindings(page: Page): Promise<string[]> {
  const { readFileSync } = await import("node:fs");
  await page.evaluate(readFileSync(axe, "utf8"));
  const found = (await page.evaluate("axe.run()")) as {
    violations: { id: string; impact: string; nodes: { html: string }[] }[];
  };
  return found.violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes[0]?.html}`);
}

export const said = (page: Page) => expect.poll(() => page.locator(".said").textContent());
