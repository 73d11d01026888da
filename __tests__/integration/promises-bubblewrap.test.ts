import { describePromises } from "./promises.js";
import { BubblewrapNativeRunner } from "./support/package.js";

describePromises("bubblewrap", (options) => new BubblewrapNativeRunner(options));
