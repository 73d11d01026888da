// Runs in one transaction that is open; `prewarm` as in ../ours.mjs.

import { placeOf, runnerOf } from "./place.mjs";

export { missing } from "./place.mjs";

export async function open({ workspace, prewarm, clone }) {
  const place = await placeOf(workspace, "run");
  const runner = runnerOf(place, prewarm, clone);
  const transaction = await runner.openTransaction({ directory: place.state });
  const cold = {
    exec: (input) => transaction.exec(input),
    async close() {
      await transaction.discard();
      await runner.close();
    },
  };
  if (prewarm === 0) return cold;
  return {
    ...cold,
    async ready() {
      const standing = await transaction.warm();
      if (standing < prewarm) throw new Error(`${standing} of ${prewarm} sandboxes stand`);
    },
  };
}
