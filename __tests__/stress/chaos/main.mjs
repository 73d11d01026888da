// The program that start.mjs runs below a reaper. Exit code 1: something was wrong.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { keepEvidence } from "./evidence/keep.mjs";
import { readOptions } from "./options.mjs";
import { summaryOf } from "./summary.mjs";
import { Supervisor } from "./supervisor.mjs";

const say = (text) => process.stdout.write(`${text}\n`);

const options = readOptions(process.argv.slice(2));
const parent = options.directory ?? tmpdir();
mkdirSync(parent, { recursive: true });
const directory = mkdtempSync(join(parent, "native-runner-chaos-"));
say(`chaos for ${options.minutes} minutes, --seed ${options.seed}`);

const supervisor = new Supervisor({ ...options, directory });
await supervisor.run();
const { tally } = supervisor;
const faults = supervisor.complaints.all;
say(summaryOf(tally, faults));
if (options.json !== undefined) {
  writeFileSync(options.json, JSON.stringify({ seed: options.seed, ...tally, faults }));
}
if (faults.length === 0) {
  rmSync(directory, { recursive: true });
  say("chaos: nothing left, and one outcome for every call");
} else {
  process.exitCode = 1;
  say(`chaos: FAILED; what each host did is in ${keepEvidence(directory, options.evidence)}`);
}
