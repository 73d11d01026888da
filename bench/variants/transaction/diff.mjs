// diff() of 20,000 changed lines in 100 files.

import { bursts, millisecondsOf } from "../../host/timed.mjs";
import { change, fillFolders, placeOf, runnerOf } from "./place.mjs";

export { missing } from "./place.mjs";

export const kChangedLines = 20_000;
const kFolders = 10;
const kFiles = 10;
const kLines = 1000;
// Every fifth line.
export const kScript = "sed -i '1~5s/^/changed /' d*/f*";

const textOf = (folder, file) =>
  Array.from({ length: kLines }, (_, line) => `line ${line} of ${folder}/${file}, as it was\n`);

export const fill = (project) =>
  fillFolders(project, kFolders, kFiles, (folder, file) => textOf(folder, file).join(""));

/** Throws unless a patch adds that many lines. */
export function expectWhole(patch) {
  const added = patch.match(/^\+(?!\+\+ )/gm)?.length ?? 0;
  if (added !== kChangedLines) throw new Error(`${added} lines were added`);
}

export async function open({ workspace }) {
  const place = await placeOf(workspace, "diff", fill);
  const runner = runnerOf(place);
  const transaction = await runner.openTransaction({ directory: place.state });
  await change(transaction, kScript);
  expectWhole(await transaction.diff());
  const step = () => millisecondsOf(() => transaction.diff());
  return {
    burst: bursts(step),
    async close() {
      await transaction.discard();
      await runner.close();
      await place.remove();
    },
  };
}
