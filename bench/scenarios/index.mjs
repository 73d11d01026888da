// The suite, in the order in which it is measured and reported.

import { auditLog } from "./audit-log.mjs";
import { clones } from "./clones.mjs";
import { concurrency } from "./concurrency.mjs";
import { droppedOutput } from "./dropped-output.mjs";
import { explain } from "./explain.mjs";
import { keptOutput } from "./kept-output.mjs";
import { largeHost } from "./large-host.mjs";
import { mcp } from "./mcp.mjs";
import { network } from "./network.mjs";
import { oneRun } from "./one-run.mjs";
import { poolSize } from "./pool-size.mjs";
import { remote } from "./remote.mjs";
import { review } from "./review.mjs";
import { sandboxMemory } from "./sandbox-memory.mjs";
import { shellLists } from "./shell-lists.mjs";
import { skill } from "./skill.mjs";
import { transactions } from "./transactions.mjs";

export const kScenarios = [
  ...[oneRun, concurrency, poolSize, largeHost],
  ...clones,
  ...[keptOutput, droppedOutput],
  ...[sandboxMemory, shellLists, skill],
  ...transactions,
  ...network,
  ...explain,
  ...auditLog,
  mcp,
  ...review,
  ...remote,
];
