// As root too: each promise holds for root.
import { FirejailNativeRunner } from "../support/package.js";
import { describePromises } from "./promises.js";

describePromises("firejail", ({ roBinds, ...options }) => {
  return new FirejailNativeRunner({ ...options, fsReadDirs: roBinds });
});
