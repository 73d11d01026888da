// More commands at once in a session than its runner's maxConcurrent. Each takes one of as many locks,
// which its end gives back, and fails where none is left.
import { spawnSync } from "node:child_process";

import { makeCall } from "../calls/call.mjs";
import { closeSession, openSession } from "../calls/opened-session.mjs";
import { kPatienceMs } from "../limits.mjs";

const kTake =
  "exec 8>/tmp/lock-1; flock -n 8 || { exec 8>/tmp/lock-2; flock -n 8 || exit 9; }; " +
  'sleep "$1"; echo "$0"';

const hasFlock = spawnSync("flock", ["--version"]).status === 0;

export const crowd = {
  name: "crowd",
  weight: hasFlock ? 3 : 0,
  async run(context) {
    const { random, runners } = context;
    const parent = runners.ofKind("narrow");
    const slot = parent && (await openSession(context, parent, {}));
    if (slot === undefined) return;
    const calls = Array.from({ length: random.int(3, 8) }, async () => {
      const id = context.nextCall();
      const token = context.tokenOf(id, slot);
      await makeCall(context, id, slot, {
        command: "takes a lock",
        input: { argv: ["sh", "-c", kTake, token, `0.0${random.int(0, 9)}`] },
        expected: [{ kind: "exited", exitCode: 0 }],
        output: `${token}\n`,
        timeoutMs: kPatienceMs,
        throws: false,
      });
    });
    await Promise.all(calls);
    await closeSession(context, slot);
  },
};
