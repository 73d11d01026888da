/** Long work of transactions on native threads, which a process that exits would wait for. */

import type { TransactionHandle } from "../../../types/addon-transaction.js";

const working = new Set<{ readonly handle: TransactionHandle }>();

function stopAll(): void {
  for (const { handle } of working) handle.stop();
}

/** Does `work`, and stops its transaction if the process exits meanwhile (`process.exit`). */
export async function stoppedAtExit<Value>(
  handle: TransactionHandle,
  work: () => Promise<Value>,
): Promise<Value> {
  const entry = { handle };
  if (working.size === 0) process.on("exit", stopAll);
  working.add(entry);
  try {
    return await work();
  } finally {
    working.delete(entry);
    if (working.size === 0) process.off("exit", stopAll);
  }
}
