// Opening a transaction on a large project, and what one takes on disk that has changed little.

import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { bursts, millisecondsOf } from "../../host/timed.mjs";
import { change, fillFolders, placeOf, runnerOf } from "./place.mjs";

export { missing } from "./place.mjs";

const kFolders = 500;
const kFiles = 100;
const kBytes = 40_000; // 2 GB in all
const kChanged = 10;

async function diskBytes(path) {
  const status = await lstat(path);
  const names = status.isDirectory() ? await readdir(path) : [];
  const below = await Promise.all(names.map((name) => diskBytes(join(path, name))));
  return below.reduce((sum, bytes) => sum + bytes, status.blocks * 512);
}

async function overheadBytes(runner, { state }) {
  const transaction = await runner.openTransaction({ directory: state });
  const files = Array.from({ length: kChanged }, (_, i) => `d${i * 7}/f${i}`);
  await change(transaction, `for file in ${files.join(" ")}; do printf y >> $file; done`);
  const { length } = await transaction.changes();
  if (length !== kChanged) throw new Error(`${length} changes`);
  const bytes = await diskBytes(join(state, transaction.id));
  await transaction.discard();
  return bytes - kChanged * (kBytes + 1);
}

export async function open({ workspace }) {
  const text = Buffer.alloc(kBytes, "x");
  const fill = (project) => fillFolders(project, kFolders, kFiles, () => text);
  const place = await placeOf(workspace, "open", fill);
  const runner = runnerOf(place);
  const step = async () => {
    let transaction;
    const took = await millisecondsOf(async () => {
      transaction = await runner.openTransaction({ directory: place.state });
    });
    await transaction.discard();
    return took;
  };
  return {
    burst: bursts(step, async () => ({ overheadBytes: await overheadBytes(runner, place) })),
    async close() {
      await runner.close();
      await place.remove();
    },
  };
}
