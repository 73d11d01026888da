// The first run of each runner: what it does for later ones (its template) must not delay it.

import { BubblewrapNativeRunner } from "../../../dist/index.js";
import { bursts, millisecondsOf } from "../../host/timed.mjs";

export function open({ workspace, options }) {
  return {
    burst: bursts(async () => {
      const runner = new BubblewrapNativeRunner({
        shadowDir: workspace,
        network: "deny",
        ...options,
      });
      const taken = await millisecondsOf(() => runner.exec({ argv: ["/bin/true"] }));
      await runner.close();
      return taken;
    }),
  };
}
