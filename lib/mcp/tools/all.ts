import type { SandboxPolicy } from "../sandbox.js";
import type { Tool } from "../tool.js";
import { adopt, compare, fork } from "./branches.js";
import { changes, checkpoint, commit, diff, discard, rollback } from "./changes.js";
import { read, run, start, stop } from "./commands.js";
import { comments } from "./comments.js";
import { edit, search, view } from "./files.js";

/** The tools of every sandbox, in the order in which they are listed. */
const kTools: readonly Tool[] = [
  ...[run, start, read, stop],
  ...[view, edit, search],
  ...[changes, diff, commit, discard],
  ...[checkpoint, rollback],
  ...[fork, compare, adopt],
];

/** Returns the tools of a sandbox: those for a review only where there is one. */
export const toolsOf = ({ review }: SandboxPolicy): readonly Tool[] =>
  review === undefined ? kTools : [...kTools, comments];
