// The rate of cloned runs by how many are in flight, all within one burst, so that the machine is the
// same for each.

import { burst } from "../../host/burst.mjs";
import { fallAfterPeak, summarize } from "../../summary.mjs";
import { open as openRunner } from "../ours.mjs";

const kAtOnce = [1, 2, 4, 8, 16, 64];
const kTurns = 3;

export async function open({ workspace }) {
  const variant = await openRunner({ workspace, clone: "auto", maxConcurrent: 64 });
  const rateAt = async (atOnce, runs) => {
    const { wallMs } = await burst(variant, { argv: ["/bin/true"], runs, atOnce });
    return (runs / wallMs) * 1e3;
  };
  return {
    async burst({ runs }) {
      const turns = kAtOnce.map(() => []);
      for (let turn = 0; turn < kTurns; turn++) {
        for (const [i, atOnce] of kAtOnce.entries()) turns[i].push(await rateAt(atOnce, runs));
      }
      const rates = turns.map((samples) => summarize(samples).p50);
      return { runMs: [], rates, fallPercent: fallAfterPeak(rates) };
    },
    close: () => variant.close(),
  };
}
