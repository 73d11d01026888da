// One kept sandbox of this package, all commands in it. `runtime` is bubblewrap or landlock.

import { BubblewrapNativeRunner, LandlockNativeRunner } from "../../dist/index.js";
import { descendantBytes } from "../host/memory.mjs";

// Beyond what the suite needs, so that no session ends in it.
const kLasting = { idleTimeoutMs: 3_600_000, maxCommands: 1_000_000 };
const kRunners = { bubblewrap: BubblewrapNativeRunner, landlock: LandlockNativeRunner };

export const missing = ({ runtime }) =>
  kRunners[runtime].prototype.openSession ? undefined : "this build has no sessions";

export async function open({ workspace, runtime }) {
  const runner = new kRunners[runtime]({ shadowDir: workspace, network: "deny" });
  const session = await runner.openSession(kLasting);
  return {
    exec: (input) => session.exec(input),
    sandboxBytes: () => descendantBytes(() => true),
    close: () => session.close(),
  };
}
