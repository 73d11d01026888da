// The blocks of the pages in docs/benchmarks that are made from a report: { name: (report) => Markdown }.
// One for each scenario by its name, and those below.

import { barTable } from "../bars.mjs";
import { machineLine } from "../report.mjs";
import { kScenarios } from "../scenarios/index.mjs";
import { scenarioTables } from "../tables.mjs";
import { isolationTable } from "./isolation-table.mjs";
import { markdownTable } from "./markdown.mjs";
import { slowerLines } from "./slower.mjs";

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
  const tables = scenarioTables(scenario, points).map(
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
