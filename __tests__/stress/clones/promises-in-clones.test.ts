/** The whole table of promises, each try in a sandbox that was cloned from a template. */

import { ClonedRunner } from "../../integration/clones/cloning-runners.js";
import { describePromises } from "../../integration/promises/promise-table.js";
import { describeSandboxed } from "../../integration/support/requirements.js";

describePromises(
  "bubblewrap",
  (options) => new ClonedRunner(options),
  (_, body) => describeSandboxed("cloned", body),
);
