// A worker thread of a host: lanes of its own until it is terminated, exits or has done its part.
import { setTimeout as delay } from "node:timers/promises";
import { workerData } from "node:worker_threads";
import { Ledger } from "../judge/ledger.mjs";
import { Lanes } from "./lanes.mjs";
import { Workspace } from "./workspace.mjs";

const { name, host, descriptor, directory, how, lifeMs, ...settings } = workerData;
const lanes = new Lanes({
  ...settings,
  name,
  count: 2,
  workspaces: [new Workspace(directory)],
  ledger: new Ledger(descriptor, { host, worker: name }),
});
if (how === "exited") setTimeout(() => process.exit(0), lifeMs);
if (how === "finished") {
  await delay(lifeMs);
  await lanes.end();
}
