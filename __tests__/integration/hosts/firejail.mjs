// One run under Firejail: WORKSPACE SCRIPT. Prints the outcome, or the code it rejected with.
import { FirejailNativeRunner } from "../../../dist/index.js";
import { say } from "./common.mjs";

const [shadowDir, script] = process.argv.slice(2);
const running = new FirejailNativeRunner({ shadowDir }).exec({ argv: ["sh", "-c", script] });
say(
  await running.then(
    ({ outcome }) => outcome,
    ({ code, message }) => ({ code, message }),
  ),
);
