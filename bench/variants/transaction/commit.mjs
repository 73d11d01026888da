// commit() of 1,000 files that a command has changed.

import { bursts, millisecondsOf } from "../../host/timed.mjs";
import { change, fillFolders, placeOf, runnerOf } from "./place.mjs";

export { missing } from "./place.mjs";

export const kFolders = 10;
export const kFiles = 100;
const kBytes = 4096;

// Each run writes something else.
const scriptOf = (run) => `
  block=$(printf '%0${kBytes}d' ${run})
  for file in d*/f*; do printf %s "$block" > $file; done`;

export async function open({ workspace }) {
  const fill = (project) => fillFolders(project, kFolders, kFiles, () => Buffer.alloc(kBytes, "x"));
  const place = await placeOf(workspace, "commit", fill);
  const runner = runnerOf(place);
  let runs = 0;
  const step = async () => {
    runs += 1;
    const transaction = await runner.openTransaction({ directory: place.state });
    await change(transaction, scriptOf(runs));
    const { length } = await transaction.changes();
    const took = await millisecondsOf(async () => {
      const { committed } = await transaction.commit();
      if (committed.length !== length || length !== kFolders * kFiles) {
        throw new Error(`${committed.length} of ${length} changes were committed`);
      }
    });
    await transaction.discard();
    return took;
  };
  return {
    burst: bursts(step),
    async close() {
      await runner.close();
      await place.remove();
    },
  };
}
