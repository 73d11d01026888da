// As root too: each promise holds for root.
import { BubblewrapNativeRunner } from "../support/package.js";
import { describePromises } from "./promise-table.js";

describePromises("bubblewrap", (options) => new BubblewrapNativeRunner(options));
