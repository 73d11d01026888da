// As root too: each promise holds for root.
import { LocalNativeRunner } from "../support/package.js";
import { describePromises } from "./promises.js";

describePromises("native", ({ shadowDir }) => new LocalNativeRunner({ shadowDir }));
