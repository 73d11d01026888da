// As ours.mjs, but runs take one of eight sandboxes that stand ready.

import { BubblewrapNativeRunner } from "../../dist/index.js";
import { descendantBytes } from "../host/memory.mjs";

const kStanding = 8;

export function open({ workspace }) {
  const shadowDir = workspace;
  const runner = new BubblewrapNativeRunner({ shadowDir, network: "deny", prewarm: kStanding });
  return {
    exec: (input) => runner.exec(input),
    ready: () => runner.warm(),
    async sandboxBytes() {
      const standing = await runner.warm();
      return descendantBytes(() => true) / standing;
    },
  };
}
