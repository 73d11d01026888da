// One run under this host's own PATH: WORKSPACE. Prints the outcome, or the code it rejected with.
import { makeRunner, say } from "./common.mjs";

const [workspace] = process.argv.slice(2);
const running = makeRunner("strict", workspace).exec({ argv: ["true"] });
say(
  await running.then(
    ({ outcome }) => outcome,
    ({ code, message, fix }) => ({ code, message, fix }),
  ),
);
