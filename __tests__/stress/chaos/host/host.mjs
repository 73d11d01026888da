// A host process: uses the package in random ways until it is told to pause or to leave, or is killed.
// Its only argument is the settings as JSON (see host-process.mjs); it answers over the IPC channel.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { Ledger, openLedger } from "../judge/ledger.mjs";
import { findKinds } from "./kinds.mjs";
import { Lanes } from "./lanes.mjs";
import { plantFaults, plantStandstill } from "./planted.mjs";
import { measure } from "./vitals.mjs";
import { WorkerPlaces } from "./worker-places.mjs";
import { Workspace } from "./workspace.mjs";

const settings = JSON.parse(process.argv[2]);
const { name, seed, mark, directory, ledgerFile, hasFaults, hasStandstill, gigabytes } = settings;
const kLanes = 3;

process.on("disconnect", () => process.exit(1)); // nobody watches us any more

/** What Node opens once for all workers. */
async function startOneWorker() {
  const worker = new Worker("", { eval: true });
  await new Promise((resolve) => worker.once("exit", resolve));
}

mkdirSync(directory, { recursive: true });
const descriptor = openLedger(ledgerFile);
const ledger = new Ledger(descriptor, { host: name });
const workspaces = ["one", "two"].map((each) => new Workspace(join(directory, each)));

await startOneWorker();
const found = await findKinds(workspaces[0]);
const kinds = found.filter(({ why }) => why === undefined).map(({ kind }) => kind);
const before = await measure();
const workers = new WorkerPlaces({ host: name, directory, seed, mark, kinds, descriptor });
if (hasFaults) plantFaults(ledger);
const standstill = hasStandstill
  ? // In a workspace that nobody replaces, or it might not begin.
    plantStandstill({ ledger, mark, name, workspace: new Workspace(join(directory, "still")) })
  : undefined;

let rounds = 0;
const startLanes = () =>
  new Lanes({
    name: `${name}/round-${++rounds}`,
    count: kLanes,
    ...{ seed, mark, kinds, workspaces, ledger, workers, gigabytes },
  });
let lanes = startLanes();

const answers = {
  /** To the end of all calls, with all runners closed. */
  async pause() {
    await lanes.end();
    await standstill;
    process.send({ answer: "paused", before, now: await measure(before) });
  },
  async resume() {
    lanes = startLanes();
  },
  /** Nothing keeps a paused host: it ends when its event loop is empty. */
  async finish() {
    process.removeAllListeners("disconnect");
    process.disconnect();
  },
  /** In mid-run. */
  async leave() {
    process.exit(0);
  },
};
process.on("message", (order) => answers[order]());
process.send({ answer: "ready", kinds: found });
