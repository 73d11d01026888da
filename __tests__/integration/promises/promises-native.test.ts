// As root too: each promise holds for root.
import { LocalNativeRunner } from "../support/package.js";
import { describePromises } from "./promise-table.js";

describePromises("native", ({ shadowDir }) => new LocalNativeRunner({ shadowDir }));
