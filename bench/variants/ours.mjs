// This package as an application uses it: the published entry point, strict isolation.

import { BubblewrapNativeRunner } from "../../dist/index.js";

export function open({ workspace }) {
  const runner = new BubblewrapNativeRunner({ shadowDir: workspace, network: "deny" });
  return { exec: (input) => runner.exec(input) };
}
