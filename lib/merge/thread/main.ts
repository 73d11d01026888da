/** The thread that merges texts by their lines: each message is some merges, and gets one answer with as many. */

import { parentPort } from "node:worker_threads";

import type { MergeAnswer, MergeAsked } from "../merge-thread.js";
import { mergedLines } from "./merged-lines.js";

parentPort?.on("message", (asked: readonly MergeAsked[]) => {
  const answers: MergeAnswer[] = asked.map(mergedLines);
  parentPort?.postMessage(answers);
});
