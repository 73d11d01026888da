// Writes a report into the pages in docs/benchmarks, between their marks, and its plots beside them.

import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

import { kPlots } from "../plots/index.mjs";
import { readResults } from "../results.mjs";
import { blocksOf } from "./blocks.mjs";
import { blockNames, withBlock } from "./markdown.mjs";

const kDirectory = fileURLToPath(new URL("../../docs/benchmarks/", import.meta.url));

/** What blocks are in: one that no page has is in the block "rest". */
export const kPages = [
  `${kDirectory}README.md`,
  `${kDirectory}load.md`,
  `${kDirectory}transactions.md`,
  `${kDirectory}network.md`,
  `${kDirectory}denials.md`,
  `${kDirectory}audit-log.md`,
  `${kDirectory}mcp.md`,
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
  const written = [...kPages];
  for (const { file, draw } of kPlots) {
    const svg = draw(report);
    if (svg === undefined) continue;
    await writeFile(`${kDirectory}${file}`, svg);
    written.push(`${kDirectory}${file}`);
  }
  return written;
}
