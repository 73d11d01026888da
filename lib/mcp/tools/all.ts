import type { Tool } from "../tool.js";
import { changes, checkpoint, commit, diff, discard, rollback } from "./changes.js";
import { read, run, start, stop } from "./commands.js";
import { edit, search, view } from "./files.js";

/** All tools, in the order in which they are listed. */
export const kTools: readonly Tool[] = [
  ...[run, start, read, stop],
  ...[view, edit, search],
  ...[changes, diff, commit, discard],
  ...[checkpoint, rollback],
];
