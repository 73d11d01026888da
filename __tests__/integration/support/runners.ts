/** The runners that every run-of-the-mill behaviour is checked with. */

import type { RemoteNativeRunner } from "../../../lib/adapters/remote.js";
import { BubblewrapNativeRunner, LocalNativeRunner } from "./package.js";

/** Makes one for a workspace. */
type Make = (shadowDir: string) => BubblewrapNativeRunner | LocalNativeRunner | RemoteNativeRunner;

/** remote/support/remote-rows.ts puts a remote one in their place, for the files that import it first. */
export const kRunners: [label: string, make: Make][] = [
  ["strict", (shadowDir) => new BubblewrapNativeRunner({ shadowDir })],
  ["compat", (shadowDir) => new BubblewrapNativeRunner({ shadowDir, isolation: "compat" })],
  ["local", (shadowDir) => new LocalNativeRunner({ shadowDir })],
];
