// Kills or stops the launcher of one of a session's commands. Killed, it can't prove any more that
// nothing of its command is left: the session must end, and say so. Stopped, it must be woken or ended.
import { setTimeout as delay } from "node:timers/promises";

import { makeCall } from "../calls/call.mjs";
import { makeLiveCall } from "../calls/live-call.mjs";
import { closeSession, openSession, pickParent } from "../calls/opened-session.mjs";
import { now } from "../judge/ledger.mjs";
import { kGoneMs, kPatienceMs } from "../limits.mjs";
import { ProcessTree, signal, wordsOf } from "../strikes/process-tree.mjs";

const kEnded = /could not be proved|first process is gone/;

/** The launcher that has started the command with this token. */
function launcherOf(token) {
  const members = new ProcessTree().descendantsOf(process.pid);
  const byPid = new Map(members.map((each) => [each.pid, each]));
  const hasToken = (each) => wordsOf(each).includes(token);
  const command = members.find((each) => hasToken(each) && byPid.has(each.parent));
  const parent = byPid.get(command?.parent);
  return parent?.name === "launcher" ? parent : undefined;
}

/** A command without an end that says when it runs: { running, settled, stop }. */
function startEndless(context, slot) {
  const id = context.nextCall();
  const token = context.tokenOf(id, slot);
  let stop = () => {};
  let settled;
  const running = new Promise((resolve) => {
    settled = makeLiveCall(context, id, slot, "start", {
      command: "waits for a strike",
      input: { argv: ["sh", "-c", "echo ready; (setsid sleep 1000 &); sleep 1000", token] },
      expected: [],
      endless: true,
      timeoutMs: kPatienceMs,
      reads: "at once",
      endsBy: "stop",
      async drive({ process, until }) {
        stop = () => process.stop();
        await until("ready\n");
        resolve(true);
      },
    });
    settled.then(() => resolve(false));
  });
  return { token, running, settled, stop: () => stop() };
}

export const strikeSession = {
  name: "strike session",
  weight: 4,
  async run(context) {
    const { random, ledger } = context;
    const parent = pickParent(context);
    const slot = parent && (await openSession(context, parent, {}));
    if (slot === undefined) return;
    const struck = startEndless(context, slot);
    const id = context.nextCall();
    const beside = makeCall(context, id, slot, {
      command: "beside one that is struck",
      input: { argv: ["sh", "-c", "echo $0; sleep 0.1", context.tokenOf(id, slot)] },
      expected: [{ kind: "exited", exitCode: 0 }],
      output: `${context.tokenOf(id, slot)}\n`,
      timeoutMs: kPatienceMs,
      throws: false,
    });
    const isRunning = await struck.running;
    const since = now();
    const launcher = isRunning ? launcherOf(struck.token) : undefined;
    const name = random.chance(0.6) ? "SIGKILL" : "SIGSTOP";
    if (launcher !== undefined) {
      ledger.write({ event: "strike", runner: slot.id, signal: name });
      const isHit = signal(launcher, name);
      if (isHit && name === "SIGKILL") {
        const late = delay(kGoneMs, "nothing", { ref: false });
        const reason = await Promise.race([slot.runner.ended, late]);
        const refused = kEnded.test(reason)
          ? undefined
          : `its launcher was killed, then: ${reason}`;
        const where = { runner: parent.id, workspace: slot.workspace.path, since };
        ledger.write({ event: "struck session", ...where, reason, refused });
      }
    }
    await struck.stop();
    await Promise.all([struck.settled, beside]);
    await closeSession(context, slot);
  },
};
