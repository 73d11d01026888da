import type { Tool } from "../tool.js";
import { changes } from "./changes.js";
import { checkpoint } from "./checkpoint.js";
import { commit } from "./commit.js";
import { diff } from "./diff.js";
import { discard } from "./discard.js";
import { read } from "./read.js";
import { rollback } from "./rollback.js";
import { run } from "./run.js";
import { start } from "./start.js";
import { stop } from "./stop.js";

/** All tools, in the order in which they are listed. */
export const kTools: readonly Tool[] = [
  ...[run, start, read, stop],
  ...[changes, diff, commit, discard],
  ...[checkpoint, rollback],
];
