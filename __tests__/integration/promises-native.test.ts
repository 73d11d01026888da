import { describePromises } from "./promises.js";
import { LocalNativeRunner } from "./support/package.js";

describePromises("native", ({ shadowDir }) => new LocalNativeRunner({ shadowDir }));
