/** The runners that every run-of-the-mill behaviour is checked with. */

import { BubblewrapNativeRunner, LocalNativeRunner } from "./package.js";

export const kRunners = [
  ["strict", (shadowDir: string) => new BubblewrapNativeRunner({ shadowDir })],
  ["compat", (shadowDir: string) => new BubblewrapNativeRunner({ shadowDir, isolation: "compat" })],
  ["local", (shadowDir: string) => new LocalNativeRunner({ shadowDir })],
] as const;
