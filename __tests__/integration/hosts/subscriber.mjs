// A run that subscribers which throw are told of: WORKSPACE. Prints the outcome, and what was raised
// as uncaught; `crash` for one that nobody catches.
import { subscribe } from "node:diagnostics_channel";
import { makeRunner, say } from "./common.mjs";

const [workspace, how] = process.argv.slice(2);
const uncaught = [];
if (how !== "crash") process.on("uncaughtException", ({ message }) => uncaught.push(message));
for (const event of ["run.start", "run.end"]) {
  subscribe(`@openagentic/native-runner:${event}`, () => {
    throw new Error(`thrown by ${event}`);
  });
}
const runner = makeRunner("local", workspace);
const { outcome, exitCode } = await runner.exec({ argv: ["sh", "-c", "sleep 0.1; exit 3"] });
await new Promise(setImmediate);
say({ outcome, exitCode, uncaught, exited: runner.metrics().runs.outcomes.exited });
