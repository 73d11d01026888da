// A session with a command that fills gigabytes and is ended at some moment of that: the kernel takes
// seconds to give them back, and the session must go on. Only where asked for (--gigabytes), and one
// at a time in each host.
import { makeCall } from "../calls/call.mjs";
import { closeSession, openSession, pickParent } from "../calls/opened-session.mjs";
import { execOn } from "./exec.mjs";

const kMostMs = 10_000; // in which some are full, and some are not

let isBusy = false;

/** Keeps all that it has read until the end of its input, which does not come. */
const kScript = '(head -c "$1" /dev/zero; exec sleep 1000) | tail -n 1';

async function fillIn(context, slot) {
  const { random, gigabytes } = context;
  const id = context.nextCall();
  const bytes = String(gigabytes * 2 ** 30);
  const isAborted = random.chance(0.5);
  const endMs = random.int(200, kMostMs);
  await makeCall(context, id, slot, {
    command: "gigabytes",
    input: { argv: ["sh", "-c", kScript, context.tokenOf(id, slot), bytes] },
    expected: [],
    endless: true,
    ...(isAborted ? { timeoutMs: 10 * kMostMs, abortAfterMs: endMs } : { timeoutMs: endMs }),
  });
}

export const gigabytes = {
  name: "gigabytes",
  weight: 3,
  async run(context) {
    if (isBusy || !context.gigabytes) return;
    const parent = pickParent(context);
    const options = { idleTimeoutMs: 60_000, shell: context.random.chance(0.5) };
    const slot = parent && (await openSession(context, parent, options));
    if (slot === undefined) return;
    isBusy = true;
    const beside = execOn(context, slot);
    await fillIn(context, slot).finally(() => {
      isBusy = false;
    });
    await beside;
    if (!slot.isClosed) await execOn(context, slot);
    if (!slot.isClosed) await closeSession(context, slot);
  },
};
