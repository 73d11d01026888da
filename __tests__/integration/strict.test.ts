import { describePromises } from "./promises.js";
import { BubblewrapNativeRunner } from "./support/package.js";

describePromises(
  "BubblewrapNativeRunner, strict",
  (options) => new BubblewrapNativeRunner(options),
);
