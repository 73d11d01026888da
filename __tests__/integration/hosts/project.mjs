// Runs commands with Bwrap, as a host application that may itself be in a sandbox.
//   node project.mjs '{"runs": [{"project", "additional", "network", "options", "command"}]}'
// Prints one line of JSON: whether it is nested, and for each run its text or its error.
import { Bwrap, isNested } from "../../../dist/index.js";

const { runs } = JSON.parse(process.argv[2]);
const ends = [];
for (const { project, additional, network, options, command } of runs) {
  try {
    const bwrap = new Bwrap(project, additional, network, options);
    ends.push({ text: await bwrap.exec(command) });
  } catch (error) {
    ends.push({ error: error.message, code: error.code, fix: error.fix });
  }
}
const peakBytes = process.resourceUsage().maxRSS * 1024;
process.stdout.write(`${JSON.stringify({ nested: isNested(), ends, peakBytes })}\n`);
