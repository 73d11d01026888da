// Makes docs/pictures/review-*.png: the review page of a real transaction in a real browser.
//
//   node scripts/review-pictures.mjs        (after npm run build; needs bwrap and /usr/bin/chromium)
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { chromium } from "playwright-core";

import { BubblewrapNativeRunner } from "../dist/index.js";
import { serveReview } from "../dist/review/serve-review.js";

const pictures = fileURLToPath(new URL("../docs/pictures/", import.meta.url));
const kBefore = `export function total(prices) {
  let sum = 0;
  for (const price of prices) {
    sum -= price;
  }
  return sum;
}

export function average(prices) {
  return total(prices) / prices.length;
}
`;
const kAfter = `/** The sum of all prices. */
export function total(prices) {
  return prices.reduce((sum, price) => sum + price, 0);
}

export function average(prices) {
  if (prices.length === 0) return 0;
  return total(prices) / prices.length;
}
`;

const directory = mkdtempSync(join(tmpdir(), "review-"));
const project = join(directory, "shop");
for (const name of ["src", "test", ".git"]) mkdirSync(join(project, name), { recursive: true });
writeFileSync(join(project, "src/prices.js"), kBefore);
writeFileSync(join(project, "README.md"), "# shop\n");
writeFileSync(join(project, "notes.txt"), "to do\n");
writeFileSync(join(project, "old.csv"), "apple,1\n");

const runner = new BubblewrapNativeRunner({ shadowDir: project });
const transaction = await runner.openTransaction({
  directory: mkdtempSync(join(tmpdir(), "state-")),
});
const run = (script) =>
  transaction.exec({ argv: ["sh", "-c", script], explain: true, env: { AFTER: kAfter } });
await run('printf "%s" "$AFTER" > src/prices.js');
await run(
  "mkdir -p .git/hooks; echo 'npm test' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit",
);
await run(
  "echo 'node --test' > test/prices.test.js; rm old.csv; echo done > notes.txt; echo more >> README.md",
);
await transaction.changes();
writeFileSync(join(project, "notes.txt"), "mine\n");

const review = await serveReview({ transaction, runner, workspace: "/home/ada/src/shop" });
const browser = await chromium.launch({
  executablePath: "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-dev-shm-usage"],
});
for (const colorScheme of ["light", "dark"]) {
  const page = await browser.newPage({ viewport: { width: 1200, height: 640 }, colorScheme });
  await page.goto(review.url);
  await page.locator('.row[data-path="src/prices.js"] button.name').click();
  const article = page.locator('article[data-path="src/prices.js"]');
  await article.locator(".cm-content").first().waitFor();
  await article.locator(".hunks").getByRole("checkbox").first().check();
  if (colorScheme === "dark") await page.keyboard.press("u");
  await article.locator(".runs summary").click();
  await page.waitForTimeout(500); // the colours of a language are loaded
  await page.screenshot({ path: join(pictures, `review-${colorScheme}.png`) });
}
await browser.close();
await review.close();
await transaction.discard();
await runner.close();
