/** A question that is answered by yes or no, at a terminal. */

import { createInterface } from "node:readline/promises";

/** False for anything but y and yes, the end of the input, Ctrl-C and `signal`. */
export async function askYes(question: string, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return false;
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const closed = new Promise<string>((resolve) => {
      lines.once("SIGINT", () => resolve(""));
      lines.once("close", () => resolve(""));
    });
    const answered = lines.question(`${question} [y/N] `, { signal }).catch(() => "");
    return /^y(es)?$/i.test((await Promise.race([answered, closed])).trim());
  } finally {
    lines.close();
  }
}
