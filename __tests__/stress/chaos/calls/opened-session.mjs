// A session as calls see it: a slot like those of a RunnerSet, whose beginning and end are in the ledger.
import { now } from "../judge/ledger.mjs";

const kEndMs = 5000; // its calls may end that long before its own end is proved

/** Why it may end without anybody having done anything to it. */
function endsByItself(reason, { maxCommands }) {
  return /\(idleTimeoutMs\)$/.test(reason) || (/\(maxCommands\)$/.test(reason) && maxCommands > 0);
}

function slotOf({ ledger }, opened, { id, parent, options, since }) {
  const { workspace } = parent;
  const slot = { id, kind: "session", workspace, runner: opened, isClosed: false, openedAt: since };
  slot.ended = opened.ended.then((reason) => {
    const isOver = endsByItself(reason, options); // and nothing ran in it any more
    const refused = slot.isClosed || isOver ? undefined : `it ended: ${reason}`;
    slot.isClosed = true;
    // What the host does to this session alone counts for it and not for its runner.
    const where = { runner: parent.id, session: id, workspace: workspace.path, since };
    ledger.write({ event: "session", ...where, reason, refused });
    ledger.write({ event: "close", runner: id, beforeMs: isOver ? 0 : kEndMs });
    return reason;
  });
  return slot;
}

/** One of the runner `parent`; undefined where it was refused, which is in the ledger. */
export async function openSession(context, parent, options) {
  const { ledger } = context;
  const { workspace } = parent;
  const id = context.nextCall();
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

/** A runner that can have sessions; in `compat` there is no /proc of its own, which they need. */
export function pickParent({ runners, random }) {
  const parent = runners.pickWith(random, "openSession");
  return parent.kind === "compat" ? undefined : parent;
}

export async function closeSession({ ledger }, slot) {
  slot.isClosed = true;
  ledger.write({ event: "close", runner: slot.id });
  await slot.runner.close();
}
