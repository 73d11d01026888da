import { createInterface } from "node:readline";

/**
 * @typedef {import("../network/consent.js").Ask} Ask
 * @typedef {import("node:readline").Interface} Interface
 */

/**
 * Asks on lines that are being read, so that the answer is no request.
 * @param {Interface} lines
 * @returns {Ask}
 */
export function askIn(lines) {
  return (question, signal) =>
    new Promise((resolve) => {
      const none = () => resolve("");
      signal.addEventListener("abort", none, { once: true });
      lines.once("close", none);
      lines.question(`\n${question}`, { signal }, (answer) => {
        signal.removeEventListener("abort", none);
        lines.removeListener("close", none);
        resolve(answer);
      });
    });
}

/**
 * Asks at the terminal when nothing else reads it.
 * @type {Ask}
 */
export async function askAtTerminal(question, signal) {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  lines.on("SIGINT", () => process.kill(process.pid, "SIGINT"));
  try {
    return await askIn(lines)(question, signal);
  } finally {
    lines.close();
  }
}
