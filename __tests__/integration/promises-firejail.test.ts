import { describePromises } from "./promises.js";
import { FirejailNativeRunner } from "./support/package.js";

describePromises("firejail", ({ roBinds, ...options }) => {
  return new FirejailNativeRunner({ ...options, fsReadDirs: roBinds });
});
