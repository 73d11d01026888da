/** The whole table of promises, each try in a sandbox that was cloned from a template. */

import { ClonedRunner } from "../../integration/clones/cloned.js";
import { describePromises } from "../../integration/promises/promises.js";
import { describeSandboxed } from "../../integration/support/gate.js";

describePromises(
  "bubblewrap",
  (options) => new ClonedRunner(options),
  (_, body) => describeSandboxed("cloned", body),
);
