// What a run costs more on a worker of the pool than here, one after the other: a run of a runner, or a session's.

import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { bursts, millisecondsOf } from "../../host/timed.mjs";
import { openPool } from "./broker.mjs";

export { missing } from "./broker.mjs";

const kTrue = { argv: ["/bin/true"] };

/** A workspace for each side, and a pool of two workers for one of them; `more` is of each one's command line. */
export async function openBoth(more = []) {
  const { RemoteNativeRunner } = await import("../../../dist/adapters/remote.js");
  const { BubblewrapNativeRunner } = await import("../../../dist/index.js");
  const top = mkdtempSync(join(tmpdir(), "native-runner-bench-remote-"));
  for (const name of ["there", "here"]) mkdirSync(join(top, name));
  const pool = await openPool(top, { more });
  const remote = new RemoteNativeRunner({ ...pool.options, workspace: join(top, "there") });
  const local = new BubblewrapNativeRunner({ shadowDir: join(top, "here") });
  return {
    remote,
    local,
    async close() {
      await Promise.all([remote.close(), local.close()]);
      await pool.close();
      rmSync(top, { recursive: true, force: true });
    },
  };
}

export async function open({ isSession = false }) {
  const { remote, local, close } = await openBoth();
  const there = isSession ? await remote.openSession() : remote;
  const here = isSession ? await local.openSession() : local;
  let took = { thereMs: [], hereMs: [] };
  const step = async () => {
    const hereMs = await millisecondsOf(() => here.exec(kTrue));
    const thereMs = await millisecondsOf(() => there.exec(kTrue));
    took.thereMs.push(thereMs);
    took.hereMs.push(hereMs);
    return thereMs - hereMs;
  };
  const more = () => {
    const last = took;
    took = { thereMs: [], hereMs: [] };
    return last;
  };
  return { burst: bursts(step, more), close };
}
