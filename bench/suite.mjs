// Measures the chosen scenarios one after another and prints their tables as they are done.

import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { machineFacts } from "./machine.mjs";
import { measure } from "./measure.mjs";
import { chosenScenarios, kUsage, readOptions } from "./options.mjs";
import { kLegend, machineLine, scenarioReport } from "./report.mjs";
import { scenarioRows } from "./rows.mjs";
import { strictSandbox } from "./sandbox.mjs";

function showProgress(name) {
  if (!process.stderr.isTTY) return () => {};
  return (done, of) => process.stderr.write(`\r\x1b[K${done < of ? `${name} ${done}/${of}` : ""}`);
}

function publicSandbox({ options, layers }, workspace) {
  return { layers, options: options.map((text) => text.replaceAll(workspace, "WORKSPACE")) };
}

async function runSuite(options, workspace) {
  const size = options.quick ? "quick" : "full";
  const sandbox = await strictSandbox(workspace);
  const machine = await machineFacts(sandbox.cmd);
  console.log(`${machineLine(machine)}\nlayers: ${sandbox.layers.join(", ")}\n`);
  if (machine.busyBefore > 0.1) console.log("This machine is busy: do not quote the numbers.\n");

  const scenarios = [];
  for (const scenario of chosenScenarios(options)) {
    const progress = showProgress(scenario.name);
    const results = await measure(scenario, size, { workspace, sandbox }, progress);
    const rows = scenarioRows(scenario, results);
    console.log(scenarioReport(scenario, size, rows));
    const { name, work } = scenario;
    scenarios.push({
      name,
      work,
      ...scenario.sizes[size],
      rows,
      bursts: Object.fromEntries(results),
    });
  }
  console.log(kLegend);

  if (options.json !== undefined) {
    const report = { size, machine, sandbox: publicSandbox(sandbox, workspace), scenarios };
    await writeFile(options.json, `${JSON.stringify(report, null, 1)}\n`);
  }
  const missed = scenarios.flatMap(({ rows }) => rows).filter((row) => row.verdict === "MISS");
  return options.strict && missed.length > 0 ? 1 : 0;
}

/** Runs the suite; resolves to the exit code. */
export async function main(args) {
  let options;
  try {
    options = readOptions(args);
  } catch (error) {
    console.error(`${error.message}\n\n${kUsage}`);
    return 2;
  }
  if (options.help) {
    console.log(kUsage);
    return 0;
  }
  const workspace = await realpath(await mkdtemp(join(tmpdir(), "native-runner-bench-")));
  try {
    return await runSuite(options, workspace);
  } finally {
    await rm(workspace, { recursive: true, force: true });
  }
}
