// The file of results: all bursts, so that tables and plots can be made of it later.

import { readFile, writeFile } from "node:fs/promises";

import { pointsOf } from "./points.mjs";
import { pointRows } from "./rows.mjs";
import { kScenarios } from "./scenarios/index.mjs";

const plainPoint = ({ at, results, rows }) => ({ at, rows, bursts: Object.fromEntries(results) });

export async function writeResults(file, { scenarios, ...report }) {
  const plain = scenarios.map(({ scenario: { name, work }, points }) => ({
    name,
    work,
    points: points.map(plainPoint),
  }));
  await writeFile(file, `${JSON.stringify({ ...report, scenarios: plain }, null, 1)}\n`);
}

/** The report as it was measured; its rows are made anew of the bursts and the present bars. */
export async function readResults(file) {
  const report = JSON.parse(await readFile(file, "utf8"));
  const scenarios = report.scenarios.map(({ name, points }) => {
    const scenario = kScenarios.find((each) => each.name === name);
    if (scenario === undefined) throw new Error(`${file} has a scenario \`${name}\`, unknown here`);
    const present = pointsOf(scenario, report.size);
    return {
      scenario,
      points: points.map(({ at, bursts }) => {
        const results = new Map(Object.entries(bursts));
        const point = present.find((each) => each.at === at) ?? present[0];
        return { at, results, rows: pointRows(point.scenario, results) };
      }),
    };
  });
  return { ...report, scenarios };
}
