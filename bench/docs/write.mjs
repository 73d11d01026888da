// Writes a report into docs/benchmarks.md and the pages below it, between their marks, and its
// plots beside them.

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

import { kPlots } from "../plots/index.mjs";
import { readResults } from "../results.mjs";
import { blocksOf } from "./blocks.mjs";
import { blockNames, withBlock } from "./markdown.mjs";

const kDocs = fileURLToPath(new URL("../../docs/", import.meta.url));
const kPlotsDirectory = `${kDocs}benchmarks/`;

/** What blocks are in: one that no page has is in the block "rest". */
export const kPages = [
  `${kDocs}benchmarks.md`,
  `${kPlotsDirectory}load.md`,
  `${kPlotsDirectory}transactions.md`,
];

/** Resolves to the files that were written. */
export async function writeDocs(resultsFile) {
  const report = await readResults(resultsFile);
  const pages = await Promise.all(kPages.map((page) => readFile(page, "utf8")));
  const blocks = blocksOf(report, pages.flatMap(blockNames));
  for (const [index, page] of pages.entries()) {
    const names = blockNames(page);
    const filled = names.reduce((text, name) => withBlock(text, name, blocks.get(name)), page);
    await writeFile(kPages[index], filled);
  }
  await mkdir(kPlotsDirectory, { recursive: true });
  const written = [...kPages];
  for (const { file, draw } of kPlots) {
    const svg = draw(report);
    if (svg === undefined) continue;
    await writeFile(`${kPlotsDirectory}${file}`, svg);
    written.push(`${kPlotsDirectory}${file}`);
  }
  return written;
}
