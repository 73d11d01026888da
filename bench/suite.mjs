// Measures the chosen scenarios one after another and prints their tables as they are done.

import { mkdtemp, realpath, rm } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";

import { findMissing } from "./available.mjs";
import { probeIsolation } from "./isolation.mjs";
import { machineFacts } from "./machine.mjs";
import { measure } from "./measure.mjs";
import { chosenScenarios, kUsage, readOptions } from "./options.mjs";
import { fitsInMemory, pointsOf } from "./points.mjs";
import { kLegend, machineLine, scenarioReport } from "./report.mjs";
import { writeResults } from "./results.mjs";
import { pointRows } from "./rows.mjs";
import { strictSandbox } from "./sandbox.mjs";
import { oneRun } from "./scenarios/one-run.mjs";
import { kVariants } from "./variants/index.mjs";

function showProgress(name) {
  if (!process.stderr.isTTY) return () => {};
  return (done, of) => process.stderr.write(`\r\x1b[K${done < of ? `${name} ${done}/${of}` : ""}`);
}

function publicSandbox({ options, layers }, workspace) {
  return { layers, options: options.map((text) => text.replaceAll(workspace, "WORKSPACE")) };
}

async function measureScenario(scenario, size, setup) {
  const points = [];
  for (const { at, scenario: point } of pointsOf(scenario, size)) {
    const label = at === undefined ? scenario.name : `${scenario.name} ${at}`;
    if (fitsInMemory(point)) {
      const results = await measure(point, size, setup, showProgress(label));
      points.push({ at, results, rows: pointRows(point, results) });
    } else {
      console.log(`left out, not enough memory is free: ${label}\n`);
    }
  }
  return { scenario, size, points };
}

async function runSuite(options, workspace) {
  const size = options.quick ? "quick" : "full";
  const sandbox = await strictSandbox(workspace);
  const machine = await machineFacts(sandbox.cmd);
  console.log(`${machineLine(machine)}\nlayers: ${sandbox.layers.join(", ")}\n`);
  if (machine.busyBefore > 0.1) console.log("This machine is busy: do not quote the numbers.\n");

  const chosen = chosenScenarios(options);
  const setup = { workspace, sandbox, home: homedir() };
  const missing = await findMissing(chosen, setup);
  for (const [name, why] of missing) console.log(`left out: ${kVariants[name].title}: ${why}`);
  if (missing.size > 0) console.log("(npm run bench:peers installs other tools)\n");
  const present = ({ variants }) => variants.filter((name) => !missing.has(name));

  const isolation = chosen.includes(oneRun) ? await probeIsolation(present(oneRun), setup) : {};
  const head = {
    date: new Date().toISOString().slice(0, 10),
    ...{ size, machine, isolation },
    sandbox: publicSandbox(sandbox, workspace),
    missing: Object.fromEntries(missing),
  };
  const scenarios = [];
  for (const scenario of chosen) {
    // The first variant is the one that the others are compared with.
    if (missing.has(scenario.variants[0])) continue;
    const possible = { ...scenario, variants: present(scenario) };
    const measured = await measureScenario(possible, size, setup);
    if (measured.points.length === 0) continue;
    console.log(scenarioReport(scenario, measured));
    scenarios.push(measured);
    // Each time anew, so that nothing measured is lost when a later one fails.
    if (options.json !== undefined) await writeResults(options.json, { ...head, scenarios });
  }
  console.log(kLegend);
  const rows = scenarios.flatMap(({ points }) => points.flatMap((point) => point.rows));
  return options.strict && rows.some(({ verdict }) => verdict === "MISS") ? 1 : 0;
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
