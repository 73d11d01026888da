import type { Tool } from "../tool.js";
import { changes, checkpoint, commit, diff, discard, rollback } from "./changes.js";
import { read, run, start, stop } from "./commands.js";

/** All tools, in the order in which they are listed. */
export const kTools: readonly Tool[] = [
  ...[run, start, read, stop],
  ...[changes, diff, commit, discard],
  ...[checkpoint, rollback],
];
