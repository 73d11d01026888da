import { describePromises } from "./promises.js";
import { LandlockNativeRunner } from "./support/package.js";

describePromises("landlock", ({ roBinds, ...options }) => {
  return new LandlockNativeRunner({ ...options, fsReadDirs: roBinds });
});
