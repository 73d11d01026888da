// Writes a report into docs/benchmarks.md, between its marks, and its plots beside it.

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

import { kPlots } from "../plots/index.mjs";
import { readResults } from "../results.mjs";
import { blocksOf } from "./blocks.mjs";
import { blockNames, withBlock } from "./markdown.mjs";

const kDocs = fileURLToPath(new URL("../../docs/", import.meta.url));
const kPage = `${kDocs}benchmarks.md`;
const kPlotsDirectory = `${kDocs}benchmarks/`;

/** Resolves to the files that were written. */
export async function writeDocs(resultsFile) {
  const report = await readResults(resultsFile);
  let page = await readFile(kPage, "utf8");
  for (const [name, content] of blocksOf(report, blockNames(page))) {
    page = withBlock(page, name, content);
  }
  await writeFile(kPage, page);
  await mkdir(kPlotsDirectory, { recursive: true });
  const written = [kPage];
  for (const { file, draw } of kPlots) {
    const svg = draw(report);
    if (svg === undefined) continue;
    await writeFile(`${kPlotsDirectory}${file}`, svg);
    written.push(`${kPlotsDirectory}${file}`);
  }
  return written;
}
