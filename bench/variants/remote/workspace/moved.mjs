// A run of /bin/true in a project that is moved by content: what differs goes to the worker over the
// broker, the command is run, and what it has changed, which is nothing, comes back.

import { mkdir } from "node:fs/promises";
import { join } from "node:path";

import { millisecondsOf } from "../../../host/timed.mjs";
import { openPool } from "../broker.mjs";
import { movingBursts, openProject } from "./project.mjs";

export { missing } from "../broker.mjs";

export async function open() {
  const { RemoteNativeRunner } = await import("../../../../dist/adapters/remote.js");
  const { project, change, top, remove } = await openProject();
  const workspaces = join(top, "worker");
  await mkdir(workspaces);
  const pool = await openPool(workspaces, { names: ["w1"] });
  const runner = new RemoteNativeRunner({ ...pool.options, workspace: { directory: project } });
  let ownMs = 0;
  const run = async () => {
    const { exitCode, outcome, audits } = await runner.exec({ argv: ["/bin/true"] });
    if (exitCode !== 0) throw new Error(`/bin/true: ${JSON.stringify(outcome)}`);
    const { setupMs, commandMs, teardownMs } = audits[0].timing;
    ownMs = setupMs + commandMs + teardownMs;
  };
  const firstMs = await millisecondsOf(run);
  return {
    burst: movingBursts(change, run, { firstMs, ownMs: () => ownMs }),
    async close() {
      await runner.close();
      await pool.close();
      await remove();
    },
  };
}
