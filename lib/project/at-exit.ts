/** Ends project commands before this process exits, so that nothing of their protection stays. */

import type { Supervised } from "../runners/supervised.js";

const running = new Set<{ runner: Supervised }>();

function endAll(): void {
  for (const { runner } of running) runner.endNow();
}

/** Until what it returns is called, `runner` is ended when the process exits by itself. */
export function endAtExit(runner: Supervised): () => void {
  if (running.size === 0) process.on("exit", endAll);
  const entry = { runner };
  running.add(entry);
  return () => {
    running.delete(entry);
    if (running.size === 0) process.off("exit", endAll);
  };
}
