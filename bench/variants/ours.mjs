// This package as an application uses it: the published entry point, strict isolation; each run in a
// sandbox made for it.

import { setTimeout as sleep } from "node:timers/promises";

import { BubblewrapNativeRunner } from "../../dist/index.js";
import { descendantBytes } from "../host/memory.mjs";

export function open({ workspace }) {
  const runner = new BubblewrapNativeRunner({ shadowDir: workspace, network: "deny", prewarm: 0 });
  return {
    exec: (input) => runner.exec(input),
    // What stands around a command that runs.
    async sandboxBytes() {
      const running = runner.exec({ argv: ["/bin/sleep", "0.2"] });
      await sleep(100);
      const bytes = descendantBytes((name) => name !== "sleep");
      await running;
      return bytes;
    },
  };
}
