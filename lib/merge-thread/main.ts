/** The thread that merges texts by their lines: each message is one merge, and gets one answer. */

import { parentPort } from "node:worker_threads";

import { type MergeAnswer, type MergeAsked, mergedLines } from "./merged-lines.js";

parentPort?.on("message", ({ number, ...asked }: MergeAsked & { number: number }) => {
  const answer: MergeAnswer & { number: number } = { number, ...mergedLines(asked) };
  parentPort?.postMessage(answer);
});
