// npm run bench: reads the command line, finds out which variants can't run here, measures the chosen
// scenarios one after another and prints their tables as they are done.

import { mkdtemp, realpath, rm } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { probeIsolation } from "./isolation.mjs";
import { machineFacts, strictSandbox } from "./machine.mjs";
import { measure, openVariant } from "./measure.mjs";
import { kLegend, machineLine, scenarioReport, writeResults } from "./report.mjs";
import { pointRows } from "./statistics.mjs";
import { kScenarios, kVariants, whyMissing } from "./subjects/index.mjs";
import { oneRun } from "./subjects/runs.mjs";
import { fitsInMemory, pointsOf } from "./subjects/scenario.mjs";

const kNames = kScenarios.map(({ name }) => name).join(", ");

const kUsage = `Usage: npm run bench -- [options]

  --quick        few samples: shows that the suite works, not a result
  --only NAME    one scenario only, may be repeated: ${kNames}
  --json FILE    also write all numbers to FILE
  --strict       exit with 1 when a bar is missed
  --help         this text
`;

/** Throws a TypeError that explains a wrong option. */
function readOptions(args) {
  const { values } = parseArgs({
    args,
    options: {
      quick: { type: "boolean", default: false },
      only: { type: "string", multiple: true, default: [] },
      json: { type: "string" },
      strict: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  for (const name of values.only) {
    if (!kScenarios.some((scenario) => scenario.name === name)) {
      throw new TypeError(`Expected --only to be one of ${kNames}, got \`${name}\``);
    }
  }
  return values;
}

function chosenScenarios(options) {
  if (options.only.length === 0) return kScenarios;
  return kScenarios.filter(({ name }) => options.only.includes(name));
}

// Which variants can't run here, and why. Ours must run; another tool is tried once, since having it
// does not say that it works: for this user, in this container, on this kernel.

const firstLine = (text) => text.trim().split("\n", 1)[0];

async function whyBroken(name, setup) {
  try {
    const variant = await openVariant(name, setup);
    try {
      const { exitCode, stderr } = await variant.tell(["/bin/true"]);
      return exitCode === 0 ? undefined : `does not work here: ${firstLine(stderr)}`;
    } finally {
      await variant.close();
    }
  } catch (error) {
    return `does not work here: ${firstLine(String(error.message))}`;
  }
}

/** Resolves to a Map from the names of the scenarios' variants that can't run to the reasons. */
async function findMissing(scenarios, setup) {
  const names = new Set(scenarios.flatMap(({ variants }) => variants));
  const reasons = new Map();
  for (const name of names) {
    const { kind, startsNothing } = kVariants[name];
    const isTried = kind === "peer" && startsNothing !== true;
    const why = (await whyMissing(name)) ?? (isTried ? await whyBroken(name, setup) : undefined);
    if (why !== undefined) reasons.set(name, why);
  }
  return reasons;
}

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
