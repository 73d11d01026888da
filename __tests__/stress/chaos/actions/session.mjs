// A session with a few commands, one after another or at once; then it is closed, in mid-run or not,
// or left to end by itself or with its runner.
import { closeSession, openSession, pickParent } from "../calls/opened-session.mjs";
import { execOn } from "./exec.mjs";
import { liveOn } from "./spawn.mjs";

const kMostCommands = 6;

function makeOptions(random) {
  return {
    idleTimeoutMs: random.pick([100, 1000]),
    shell: random.chance(0.3),
    maxCommands: random.chance(0.2) ? random.int(1, kMostCommands) : undefined,
  };
}

export const session = {
  name: "session",
  weight: 8,
  async run(context) {
    const { random } = context;
    const parent = pickParent(context);
    const slot = parent && (await openSession(context, parent, makeOptions(random)));
    if (slot === undefined) return;
    const calls = [];
    for (let left = random.int(1, kMostCommands); left > 0 && !slot.isClosed; left -= 1) {
      calls.push(random.chance(0.4) ? liveOn(context, slot, "start") : execOn(context, slot));
      if (random.chance(0.6)) await Promise.all(calls);
    }
    if (random.chance(0.4)) await Promise.all(calls);
    if (random.chance(0.7)) await closeSession(context, slot);
    await Promise.all(calls);
  },
};
