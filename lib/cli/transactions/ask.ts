/** The question what is to become of changes, at a terminal. */

import { createInterface } from "node:readline";

export type Answer = "commit" | "discard" | "keep" | "show";

const kAnswers: readonly Answer[] = ["commit", "discard", "keep", "show"];

/** The one that a word, or its first letters, stands for. */
export function answerOf(text: string): Answer | undefined {
  const word = text.trim().toLowerCase();
  if (word === "diff") return "show";
  return word === "" ? undefined : kAnswers.find((answer) => answer.startsWith(word));
}

/**
 * Asks until there is an answer. The end of the input, Ctrl-C and `signal` are "keep", which loses
 * nothing.
 */
export async function ask(signal: AbortSignal): Promise<Answer> {
  if (signal.aborted) return "keep";
  const lines = createInterface({ input: process.stdin, output: process.stderr, signal });
  lines.setPrompt("commit, discard, keep, or show the diff? [c/d/k/s] ");
  try {
    return await new Promise<Answer>((resolve) => {
      lines.on("SIGINT", () => lines.close());
      lines.on("close", () => {
        process.stderr.write("\n");
        resolve("keep");
      });
      lines.on("line", (line) => {
        const answer = answerOf(line);
        if (answer === undefined) lines.prompt();
        else resolve(answer);
      });
      lines.prompt();
    });
  } finally {
    lines.removeAllListeners("close");
    lines.close();
  }
}
