// This package as an application uses it: the published entry point, strict isolation. `prewarm` is
// how many sandboxes it keeps standing; 0: every run builds its own. `network`: the runner's option.

import { setTimeout as sleep } from "node:timers/promises";

import { BubblewrapNativeRunner } from "../../dist/index.js";
import { descendantBytes } from "../host/memory.mjs";

export const missing = ({ prewarm }) =>
  prewarm === 0 || BubblewrapNativeRunner.prototype.warm !== undefined
    ? undefined
    : "this build has no prewarmed sandboxes";

function cold(runner) {
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

function prewarmed(runner, prewarm) {
  return {
    exec: (input) => runner.exec(input),
    async ready() {
      const standing = await runner.warm();
      if (standing < prewarm) throw new Error(`${standing} of ${prewarm} sandboxes stand`);
    },
    sandboxBytes: async () => descendantBytes(() => true) / prewarm,
    close: () => runner.close(),
  };
}

export function open({ workspace, prewarm = 0, network = "deny" }) {
  const runner = new BubblewrapNativeRunner({ shadowDir: workspace, network, prewarm });
  return prewarm === 0 ? cold(runner) : prewarmed(runner, prewarm);
}
