// changes() of a transaction that has changed 10,000 files: a part in place, some new, some removed.

import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { bursts, millisecondsOf } from "../../host/timed.mjs";
import { change, fillFolders, placeOf, runnerOf } from "./place.mjs";

export { missing } from "./place.mjs";

const kFolders = 100;
const kFiles = 80;
const kExpected = 10_000;
const kScript = `
  for folder in d*; do
    cd $folder
    for n in 0 1 2 3 4; do for m in 0 1 2 3 4 5 6 7 8 9; do printf more >> f$n$m; done; done
    for n in 5 6; do for m in 0 1 2 3 4 5 6 7 8 9; do printf same > f$n$m; done; done
    rm f7?
    for n in 0 1; do for m in 0 1 2 3 4 5 6 7 8 9; do printf new > n$n$m; done; done
    cd ..
  done`;

/** Where the floor finds the same upper directory. */
export const upperLink = ({ top }) => join(top, "upper");

// Two digits each, as the script writes them.
const nameOf = (file) => String(file).padStart(2, "0");

export async function open({ workspace }) {
  const place = await placeOf(workspace, "changes", (project) =>
    fillFolders(project, kFolders, kFiles, () => "text", nameOf),
  );
  const runner = runnerOf(place);
  const transaction = await runner.openTransaction({ directory: place.state });
  await change(transaction, kScript);
  await symlink(join(place.state, transaction.id, "upper"), upperLink(place));
  const step = () =>
    millisecondsOf(async () => {
      const { length } = await transaction.changes();
      if (length !== kExpected) throw new Error(`${length} changes, ${kExpected} are expected`);
    });
  return {
    burst: bursts(step),
    async close() {
      await transaction.discard();
      await runner.close();
      await place.remove();
    },
  };
}
