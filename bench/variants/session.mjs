// One kept sandbox of this package, all commands in it. `runtime` is bubblewrap or landlock.

import { BubblewrapNativeRunner, LandlockNativeRunner } from "../../dist/index.js";
import { descendantBytes } from "../host/memory.mjs";

const kRunners = { bubblewrap: BubblewrapNativeRunner, landlock: LandlockNativeRunner };

export async function open({ workspace, runtime }) {
  const runner = new kRunners[runtime]({ shadowDir: workspace, network: "deny" });
  const session = await runner.openSession({ idleTimeoutMs: Infinity });
  return {
    exec: (input) => session.exec(input),
    sandboxBytes: () => descendantBytes(() => true),
    close: () => session.close(),
  };
}
