// Looks for processes that a run of .ci/run left behind; all that it starts inherit its variable.
import { markedProcesses } from "../lib/processes.mjs";
import { fail } from "../lib/run.mjs";

const left = markedProcesses(`NATIVE_RUNNER_CI_RUN=${process.env.NATIVE_RUNNER_CI_RUN}`);
for (const { pid, command } of left) console.error(`${pid}: ${command}`);
if (left.length > 0) fail(`${left.length} processes were left behind`);
console.log("no process left behind");
