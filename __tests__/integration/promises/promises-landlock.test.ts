// As root too: each promise holds for root.
import { LandlockNativeRunner } from "../support/package.js";
import { describePromises } from "./promise-table.js";

describePromises("landlock", ({ roBinds, ...options }) => {
  return new LandlockNativeRunner({ ...options, fsReadDirs: roBinds });
});
