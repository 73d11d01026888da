// Runs a second with many at once, on a pool of this machine's own processors or in this process.

import { openBoth } from "./run.mjs";

export { missing } from "./broker.mjs";

const kTrue = { argv: ["/bin/true"] };
/** All 64 of them run at once there too. */
const kSlots = ["--slots", "32"];

export async function open({ where }) {
  const { [where]: runner, close } = await openBoth(kSlots);
  return {
    async burst({ runs, atOnce }) {
      let left = runs;
      const runMs = [];
      const one = async () => {
        while (left-- > 0) {
          const from = performance.now();
          const { exitCode } = await runner.exec(kTrue);
          if (exitCode !== 0) throw new Error(`/bin/true ended with ${exitCode}`);
          runMs.push(performance.now() - from);
        }
      };
      const from = performance.now();
      await Promise.all(Array.from({ length: atOnce }, one));
      return { runMs, wallMs: performance.now() - from };
    },
    close,
  };
}
