// A host with a server in a sandbox and a forward to it: WORKSPACE WORDS, a JSON list. Tells the host's port, and is
// to be killed.
import { setTimeout as delay } from "node:timers/promises";
import { makeRunner, say } from "./common.mjs";

const [workspace, words] = process.argv.slice(2);
const live = await makeRunner("strict", workspace).spawn({ argv: JSON.parse(words) });
await live.waitForPort(8000);
const { port } = await live.forward(8000);
say(`port ${port}`);
await delay(1_000_000);
