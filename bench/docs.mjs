// Writes a report into the pages in docs/benchmarks, between their marks, and its plots beside them.

import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

import { kPlots } from "./plots/index.mjs";
import {
  barTable,
  figure,
  machineLine,
  markdownTable,
  readResults,
  scenarioTables,
} from "./report.mjs";
import { ratioOf, summaryOf } from "./statistics.mjs";
import { kScenarios, kVariants } from "./subjects/index.mjs";
import { labelOf, runTime } from "./subjects/scenario.mjs";

// Each tool's median beside what its sandbox was found to keep a command from.

const kColumns = {
  "home hidden": (facts) => !facts.readsHome,
  "/var/lib hidden": (facts) => !facts.readsElsewhere,
  "no writes outside": (facts) => !facts.writesElsewhere,
  "no loopback": (facts) => !facts.reachesLoopback,
  "own pids": ({ namespaces }) => namespaces.includes("pid"),
  "own IPC": ({ namespaces }) => namespaces.includes("ipc"),
  seccomp: (facts) => facts.seccomp,
  "no capabilities": ({ capabilities, namespaces }) =>
    capabilities > 0 && namespaces.includes("user") ? "outside its namespace" : capabilities === 0,
};

const mark = (isSo) => (isSo === false ? "**no**" : isSo === true ? "yes" : isSo);

function marksOf(name, isolation) {
  const { openHere, isolatesAs = name } = kVariants[name];
  const facts = isolation[isolatesAs];
  if (facts !== undefined) return Object.values(kColumns).map((of) => mark(of(facts)));
  // The C program without a sandbox can't be asked, and need not be.
  return Object.keys(kColumns).map(() => (openHere !== undefined ? mark(false) : "?"));
}

function isolationTable({ scenarios, isolation }) {
  const measured = scenarios.find(({ scenario }) => scenario.name === "one-run");
  if (measured === undefined) return "Not measured in this run.";
  const { results } = measured.points[0];
  const first = results.values().next().value;
  const lines = [...results].map(([name, bursts]) => [
    kVariants[name].title,
    figure(summaryOf(runTime, bursts).p50),
    bursts === first ? "1" : `${figure(ratioOf(runTime, bursts, first).p50)}x`,
    ...marksOf(name, isolation),
  ]);
  return markdownTable({ head: ["", "p50, ms", "against ours", ...Object.keys(kColumns)], lines });
}

// Where ours was worse than what it is compared with, in so many words: the ratio of the medians and
// its whole p10 to p90 lie on the wrong side of 1 (of the p99, where a measure has one of its own).
// What has no sandbox is no comparison, and ours are not compared with each other.

const kKinds = new Set(["floor", "same-bwrap", "peer"]);

function isWorse({ ratio }, { higherIsBetter, tailSample }) {
  if (tailSample !== undefined && ratio.tail <= 1) return false;
  if (higherIsBetter) return ratio.p50 < 1 && ratio.p90OfRounds < 1;
  return ratio.p50 > 1 && ratio.p10OfRounds > 1;
}

function isCompared({ of, against }, subject) {
  if (against === undefined || of !== subject) return false;
  const { kind, isUnconfined } = kVariants[against];
  return kVariants[of].kind === "ours" && kKinds.has(kind) && isUnconfined !== true;
}

/** One line for each measure and variant that ours lost against, all its points in it. */
function slowerLines({ scenario, points }) {
  const measures = new Map(scenario.measures.map((measure) => [measure.name, measure]));
  const lost = new Map();
  for (const { at, rows, results } of points) {
    const subject = results.keys().next().value;
    for (const row of rows) {
      if (!isCompared(row, subject) || !isWorse(row, measures.get(row.measure))) continue;
      const { measure, unit, of, against, own, other, ratio } = row;
      const key = `${scenario.name}: ${measure}, ${kVariants[of].title} / ${kVariants[against].title}:`;
      const where = at === undefined ? "" : ` at ${labelOf(scenario.axis, at)}`;
      const numbers = `${figure(own.p50)} to ${figure(other.p50)} ${unit}`;
      // A Set: several measures may differ in their bars alone.
      if (!lost.has(key)) lost.set(key, new Set());
      lost.get(key).add(`${figure(ratio.p50)}x${where} (${numbers})`);
    }
  }
  return [...lost].map(([key, texts]) => `${key} ${[...texts].join(", ")}`);
}

// The blocks of the pages in docs/benchmarks that are made from a report: { name: (report) => Markdown }.
// One for each scenario by its name, and those below.

const capital = (text) => text[0].toUpperCase() + text.slice(1);

function amountOf({ scenario, size, points }) {
  const counts = points.map(({ results }) => results.values().next().value.length);
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  const rounds = least === most ? `${least}` : `${least} to ${most}`;
  const { runs } = scenario.sizes[size];
  const perRound = scenario.axis === undefined ? ` of ${runs} run${runs === 1 ? "" : "s"}` : "";
  return `${rounds} rounds${perRound} for each, after a warm-up.`;
}

function scenarioBlock(measured) {
  const { scenario, points } = measured;
  const tables = scenarioTables(scenario, points, { isBrief: true }).map(
    (table) => `**${capital(table.title)}**\n\n${markdownTable(table)}`,
  );
  return [`Work: ${scenario.work}. ${amountOf(measured)}`, ...tables].join("\n\n");
}

function machineBlock({ machine, size, missing, date, sandbox }) {
  const warnings = [
    size === "full" ? "" : "**A quick run: it shows that the suite works, and is no result.**",
    machine.busyBefore > 0.1
      ? "**The machine was busy with other work: these numbers are provisional.**"
      : "",
    ...Object.entries(missing).map(([name, why]) => `Left out: \`${name}\` (${why}).`),
  ];
  const layers = `Layers of a strict run there: ${sandbox.layers.join(", ")}.`;
  return [`${date}: ${machineLine(machine)}.`, layers, ...warnings]
    .filter((text) => text !== "")
    .join("\n\n");
}

function barsBlock({ scenarios }) {
  const tables = scenarios.map(({ scenario, points }) => ({
    name: scenario.name,
    ...barTable(scenario, points),
  }));
  const lines = tables.flatMap(({ name, lines }) => lines.map((line) => [name, ...line]));
  return markdownTable({ head: ["", ...tables[0].head], lines }, [1]);
}

const slowerBlock = ({ scenarios }) =>
  scenarios
    .flatMap(slowerLines)
    .map((text) => `- ${text}`)
    .join("\n");

const kOwn = {
  machine: machineBlock,
  bars: barsBlock,
  isolation: isolationTable,
  slower: slowerBlock,
};

/** The Markdown of all blocks named; `rest` holds the scenarios that none of them names. */
export function blocksOf(report, names) {
  const scenarios = report.scenarios.map((measured) => ({ ...measured, size: report.size }));
  const byName = new Map(scenarios.map((measured) => [measured.scenario.name, measured]));
  const blocks = new Map();
  for (const name of names) {
    if (kOwn[name] !== undefined) blocks.set(name, kOwn[name](report));
    else if (byName.has(name)) blocks.set(name, scenarioBlock(byName.get(name)));
    else if (kScenarios.some((scenario) => scenario.name === name)) {
      blocks.set(name, "Not measured in this run.");
    } else if (name !== "rest") throw new Error(`the page has a block \`${name}\`, unknown here`);
  }
  if (names.includes("rest")) {
    const rest = scenarios.filter(({ scenario }) => !names.includes(scenario.name));
    const sections = rest.map((each) => `### ${each.scenario.name}\n\n${scenarioBlock(each)}`);
    blocks.set("rest", sections.join("\n\n"));
  }
  return blocks;
}

// The marked blocks of a page.

const begin = (name) => `<!-- bench:${name} -->`;
const kEnd = "<!-- /bench -->";

/** The names of a document's blocks, in order. */
export function blockNames(document) {
  return [...document.matchAll(/<!-- bench:([a-z-]+) -->/g)].map(([, name]) => name);
}

/** The document with the block's content replaced. */
export function withBlock(document, name, content) {
  const from = document.indexOf(begin(name));
  const to = document.indexOf(kEnd, from);
  if (from < 0 || to < 0) throw new Error(`the document has no block ${begin(name)} … ${kEnd}`);
  const before = document.slice(0, from + begin(name).length);
  return `${before}\n\n${content.trim()}\n\n${document.slice(to)}`;
}

const kDirectory = fileURLToPath(new URL("../docs/benchmarks/", import.meta.url));

/** What blocks are in: one that no page has is in the block "rest". */
export const kPages = [
  `${kDirectory}README.md`,
  `${kDirectory}load.md`,
  `${kDirectory}transactions.md`,
  `${kDirectory}branches.md`,
  `${kDirectory}network.md`,
  `${kDirectory}secrets.md`,
  `${kDirectory}denials.md`,
  `${kDirectory}home.md`,
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
