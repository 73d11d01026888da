// This package's Landlock runner at its defaults, but for the network, which is denied there too.

import { LandlockNativeRunner } from "../../dist/index.js";

export function open({ workspace }) {
  const runner = new LandlockNativeRunner({ shadowDir: workspace, network: "deny" });
  return { exec: (input) => runner.exec(input) };
}
