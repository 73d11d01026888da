/**
 * The whole table of promises, for the ways in which a transaction runs a command that have a plan of
 * their own. The integration suite has it for a run as it comes; a batch is a session.
 */

import { existsSync } from "node:fs";
import { join } from "node:path";

import { describePromises } from "../../integration/promises/promise-table.js";
import { describeSandboxed } from "../../integration/support/requirements.js";
import { kWays, TransactionRunner } from "../../integration/transaction/ways-to-run.js";

const kNames = ["prewarmed", "in a session", "live", "with Landlock besides"];

for (const [name, way] of Object.entries(kWays).filter(([each]) => kNames.includes(each))) {
  const uppers: string[] = [];
  describePromises(
    "bubblewrap",
    (options) =>
      new TransactionRunner(options, way, ({ id }, directory) => {
        uppers.push(join(directory, id, "upper"));
      }),
    (_, body) => describeSandboxed(`in a transaction, ${name}`, body),
    ["reaches a socket that the host keeps in the workspace"],
    (_, path) => uppers.some((upper) => existsSync(join(upper, path))),
  );
}
