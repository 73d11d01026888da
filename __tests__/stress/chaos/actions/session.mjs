// A session with a few commands, one after another or at once; then it is closed, in mid-run or not,
// or left to end by itself or with its runner.
import { now } from "../ledger.mjs";
import { execOn } from "./exec.mjs";

const kMostCommands = 6;
const kEndMs = 5000; // its calls may end that long before its own end is proved

function makeOptions(random) {
  return {
    idleTimeoutMs: random.pick([100, 1000]),
    shell: random.chance(0.3),
    maxCommands: random.chance(0.2) ? random.int(1, kMostCommands) : undefined,
  };
}

/** Why it may end without anybody having done anything to it. */
function endsByItself(reason, { maxCommands }) {
  return /\(idleTimeoutMs\)$/.test(reason) || (/\(maxCommands\)$/.test(reason) && maxCommands > 0);
}

/** What calls are made on: a slot like those of a RunnerSet. */
function slotOf({ ledger }, opened, { id, parent, options, since }) {
  const { workspace } = parent;
  const slot = { id, kind: "session", workspace, runner: opened, isClosed: false, openedAt: since };
  slot.ended = opened.ended.then((reason) => {
    const isOver = endsByItself(reason, options); // and nothing ran in it any more
    const refused = slot.isClosed || isOver ? undefined : `it ended: ${reason}`;
    slot.isClosed = true;
    const where = { runner: parent.id, workspace: workspace.path, since };
    ledger.write({ event: "session", ...where, reason, refused });
    ledger.write({ event: "close", runner: id, beforeMs: isOver ? 0 : kEndMs });
  });
  return slot;
}

async function open(context, parent, id) {
  const { random, ledger } = context;
  const { workspace } = parent;
  const options = makeOptions(random);
  const since = now();
  try {
    const opened = await parent.runner.openSession(options);
    return slotOf(context, opened, { id, parent, options, since });
  } catch (error) {
    const refused = `${error.code} ${error.message}`;
    ledger.write({ event: "open", runner: parent.id, workspace: workspace.path, since, refused });
    return undefined;
  }
}

export const session = {
  name: "session",
  weight: 6,
  async run(context) {
    const { random, ledger } = context;
    const parent = context.runners.pickWith(random, "openSession");
    if (parent.kind === "compat") return; // has no /proc of its own, which sessions need
    const slot = await open(context, parent, context.nextCall());
    if (slot === undefined) return;
    const calls = [];
    for (let left = random.int(1, kMostCommands); left > 0 && !slot.isClosed; left -= 1) {
      calls.push(execOn(context, slot));
      if (random.chance(0.6)) await Promise.all(calls);
    }
    if (random.chance(0.4)) await Promise.all(calls);
    if (random.chance(0.7)) {
      slot.isClosed = true;
      ledger.write({ event: "close", runner: slot.id });
      await slot.runner.close();
    }
    await Promise.all(calls);
  },
};
