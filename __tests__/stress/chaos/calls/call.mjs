// One call of a runner, in the ledger with its plan when it begins and with its outcome when it
// settles. What the host learns of it goes into the ledger as it is; judge.mjs says what is right.
export const kOnPurpose = "thrown on purpose";

const kShown = 200; // characters of output in the ledger, the rest is only compared

/** What of the output is wrong, in short; undefined where nothing is. */
function faultOf({ output }, { stdout, truncatedStdout }, isWhole) {
  if (output === undefined) return undefined;
  const got = Buffer.from(stdout).toString();
  const fits = isWhole && !truncatedStdout ? got === output : output.startsWith(got);
  return fits ? undefined : got.slice(0, kShown);
}

/** Why a shell session's state is not what the step before left, as the result says; undefined where it is. */
function lostStateOf({ shellState }) {
  const { status, reason, lostDirectory } = shellState ?? {};
  if (lostDirectory !== undefined) return `${lostDirectory} could not be entered`;
  return status === "lost" ? reason : undefined;
}

/** What the ledger says of a result; `plan` has the output that is to be expected. */
export function endOf(plan, result) {
  const { outcome, exitCode, stdout, stdoutBytes, truncatedStdout, audits } = result;
  const { kind, ...more } = outcome;
  return {
    kind,
    ...more,
    exitCode,
    kept: stdout.length,
    written: stdoutBytes,
    truncated: truncatedStdout,
    wrongOutput: faultOf(plan, result, false),
    notWhole: faultOf(plan, result, true),
    lostState: lostStateOf(result),
    layers: audits[0].layers.filter((layer) => layer.startsWith("tree-kill")),
  };
}

/** Writes that a call begins; returns what writes its end. `more`: further facts for the judge. */
export function callStarter({ ledger }, id, slot, plan, more = {}) {
  const { input, output, streams, ...shown } = plan;
  ledger.write({
    event: "begin",
    call: id,
    runner: slot.id,
    runnerKind: slot.kind,
    workspace: slot.workspace.path,
    closedBefore: slot.isClosed,
    openedAt: slot.openedAt,
    limit: input.limits?.maxStdoutBytes,
    says: (output ?? "") !== "",
    ...shown,
    ...more,
  });
  return (end) => ledger.write({ event: "end", call: id, ...end });
}

/**
 * Runs a plan on a runner of the set (see runner-set.mjs); resolves when it has settled, with how, as
 * the ledger has it.
 */
export async function makeCall(context, id, slot, plan) {
  const { input, timeoutMs, abortAfterMs, throws, streams } = plan;
  const controller = new AbortController();
  let settled = false;
  const onStdout = () => {
    if (settled) context.ledger.write({ event: "late", call: id });
    if (throws) throw new Error(kOnPurpose);
  };
  const writeEnd = callStarter(context, id, slot, plan);
  const running = slot.runner.exec({
    ...input,
    limits: { ...input.limits, timeoutMs },
    signal: controller.signal,
    ...(throws || streams ? { onStdout } : {}),
  });
  const timer =
    abortAfterMs === undefined ? undefined : setTimeout(() => controller.abort(), abortAfterMs);
  const end = await running.then(
    (result) => endOf(plan, result),
    (error) => ({ rejected: error.code ?? error.message, message: error.message }),
  );
  settled = true;
  // A session that refuses has ended, and says so: in the ledger before this.
  if (end.rejected === "ERR_SANDBOX_CLOSED") await slot.ended;
  clearTimeout(timer);
  writeEnd(end);
  return end;
}
