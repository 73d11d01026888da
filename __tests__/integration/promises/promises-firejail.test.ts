// As root too: each promise holds for root.
import { FirejailNativeRunner } from "../support/package.js";
import { describePromises } from "./promise-table.js";

describePromises("firejail", ({ roBinds, ...options }) => {
  return new FirejailNativeRunner({ ...options, fsReadDirs: roBinds });
});
