// What a person waits for at the review page, in headless Chromium: 5,000 changes, one file of 2 MB.

import { accessSync, constants, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { bursts } from "../bursts.mjs";
import { noTransactions } from "./projects.mjs";

const kSizes = { full: { rounds: 10, runs: 3 }, quick: { rounds: 2, runs: 2 } };

const milliseconds = (name, limit) => ({
  name,
  unit: "ms",
  sample: (burst) => burst.runMs,
  limit,
});

export const scenarios = [
  {
    name: "review-paint",
    work: "the review page of 5,000 changes, from the visit until the list of them is on the screen",
    variants: ["reviewPaint"],
    sizes: kSizes,
    request: {},
    measures: [milliseconds("until it is painted", { of: "p50", atMost: 1000, aim: 500 })],
  },
  {
    name: "review-scroll",
    work: "scrolling through the list of 5,000 changes, 60 pixels with each frame, for two seconds",
    variants: ["reviewScroll"],
    sizes: kSizes,
    request: {},
    measures: [
      {
        name: "frames",
        unit: "per second",
        sample: (burst) => burst.runMs,
        limit: { of: "p50", atLeast: 50, aim: 58 },
      },
    ],
  },
  {
    name: "review-branches-paint",
    work: "the review page of three branches of 5,000 changes each, from the visit until the list of them is on the screen",
    variants: ["reviewBranchesPaint"],
    sizes: kSizes,
    request: {},
    measures: [milliseconds("until it is painted", { of: "p50", atMost: 1500, aim: 1000 })],
  },
  {
    name: "review-branches-scroll",
    work: "scrolling through three branches of 5,000 changes each, 60 pixels with each frame, for two seconds",
    variants: ["reviewBranchesScroll"],
    sizes: kSizes,
    request: {},
    measures: [
      {
        name: "frames",
        unit: "per second",
        sample: (burst) => burst.runMs,
        limit: { of: "p50", atLeast: 50, aim: 58 },
      },
    ],
  },
  {
    name: "review-file",
    work: "opening a file of 2 MB with five changed lines, until both sides are on the screen",
    variants: ["reviewFile"],
    sizes: kSizes,
    request: {},
    measures: [milliseconds("until it is painted", { of: "p50", atMost: 1000, aim: 500 })],
  },
];

// The review page in a real browser.

const kChromium = "/usr/bin/chromium";
const kMany =
  "for d in $(seq 1 50); do mkdir -p src/d$d; for f in $(seq 1 99); do echo $f > src/d$d/$f.txt; done; done";

/** Why it can't be measured here. */
async function noPage() {
  try {
    accessSync(kChromium, constants.X_OK);
  } catch {
    return `there is no ${kChromium}`;
  }
  return noTransactions();
}

/** `change` makes the transaction's changes, or branches, which it returns; `step` measures one visit. */
async function openPage(change, step, prepare = () => {}) {
  const { chromium } = await import("playwright-core");
  const { BubblewrapNativeRunner } = await import("../../dist/index.js");
  const { serveReview } = await import("../../dist/review/serve-review.js");
  const top = mkdtempSync(join(tmpdir(), "native-runner-bench-review-"));
  const [workspace, state] = ["workspace", "state"].map((name) => mkdtempSync(join(top, name)));
  prepare(workspace);
  const runner = new BubblewrapNativeRunner({ shadowDir: workspace });
  const transaction = await runner.openTransaction({ directory: state });
  const made = await change(transaction);
  const branches = Array.isArray(made) ? made.map((branch) => ({ transaction: branch })) : [];
  const served = await serveReview({ transaction, runner, branches });
  const browser = await chromium.launch({
    executablePath: kChromium,
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
  });
  return {
    burst: bursts(async () => {
      const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
      try {
        return await step(page, served.url);
      } finally {
        await page.close();
      }
    }),
    async close() {
      await browser.close();
      await served.close();
      for (const { transaction: branch } of branches) await branch.discard();
      await transaction.discard();
      await runner.close();
      rmSync(top, { recursive: true, force: true });
    },
  };
}

/** By the page's own clock, in ms since the visit began: two frames after it is there. */
const paintedAt = (page, selector) =>
  page.evaluate(
    (wanted) =>
      new Promise((resolve) => {
        const look = () => {
          if (document.querySelector(wanted) === null) return requestAnimationFrame(look);
          requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now())));
        };
        look();
      }),
    selector,
  );

const makeMany = (transaction) => transaction.exec({ argv: ["sh", "-c", kMany] });

async function makeBranches(transaction) {
  const branches = await transaction.fork({ count: 3 });
  for (const [at, branch] of branches.entries()) {
    const script = kMany.replace("echo $f", `echo ${at} $f`);
    await branch.exec({ argv: ["sh", "-c", script] });
  }
  return branches;
}

const openPaint = (change = makeMany) =>
  openPage(change, async (page, url) => {
    await page.goto(url, { waitUntil: "commit" });
    return paintedAt(page, ".row");
  });

const openScroll = (change = makeMany) =>
  openPage(change, async (page, url) => {
    await page.goto(url);
    await paintedAt(page, ".row");
    return page.evaluate(
      () =>
        new Promise((resolve) => {
          let frames = 0;
          const from = performance.now();
          const step = () => {
            frames += 1;
            window.scrollBy(0, 60);
            const lasted = performance.now() - from;
            if (lasted < 2000) requestAnimationFrame(step);
            else resolve((frames * 1000) / lasted);
          };
          requestAnimationFrame(step);
        }),
    );
  });

const kLines = Array.from(
  { length: 42_000 },
  (_, at) => `const value${at} = "a line of some length ${at}";`,
);
const withOthers = () => kLines.map((line, at) => (at % 10_000 === 5 ? `${line} // other` : line));

const openFile = () =>
  openPage(
    (transaction) => transaction.files.write("large.js", `${withOthers().join("\n")}\n`),
    async (page, url) => {
      await page.goto(url);
      await page.locator(".row button.name").waitFor();
      const from = await page.evaluate(() => {
        document.querySelector(".row button.name").click();
        return performance.now();
      });
      return (await paintedAt(page, ".cm-changedLine")) - from;
    },
    (workspace) => writeFileSync(join(workspace, "large.js"), `${kLines.join("\n")}\n`),
  );

export const variants = {
  reviewPaint: {
    title: "the list of changes",
    kind: "ours",
    missing: noPage,
    open: () => openPaint(),
  },
  reviewScroll: { title: "scrolling", kind: "ours", missing: noPage, open: () => openScroll() },
  reviewBranchesPaint: {
    title: "the list of branches",
    kind: "ours",
    missing: noPage,
    open: () => openPaint(makeBranches),
  },
  reviewBranchesScroll: {
    title: "scrolling through branches",
    kind: "ours",
    missing: noPage,
    open: () => openScroll(makeBranches),
  },
  reviewFile: { title: "a large file", kind: "ours", missing: noPage, open: openFile },
};
