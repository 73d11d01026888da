// Whether the outcome of a call is plausible for what was done to it. Pure; `touched` says what that
// was while it ran: { struck, replaced, closed } (a process of it was signalled, or may have been; its
// workspace was replaced; its runner was closed).
import { kOnPurpose } from "../calls/call.mjs";
import { kPatienceMs } from "../limits.mjs";

const kExitCodes = {
  "timed-out": (code) => code === 124,
  aborted: (code) => code === 130,
  "not-found": (code) => code === 127,
  "not-executable": (code) => code === 126,
  "setup-failed": (code) => code === 125,
  exited: (code) => code >= 0 && code <= 255,
  signaled: (code) => code > 128,
  "limit-exceeded": (code) => code > 128,
  "lease-expired": (code) => code === 137,
};

const matches = (expected, end) =>
  Object.entries(expected).every(([field, value]) => end[field] === value);

function mayReject({ closedBefore, throws, inBatch }, { rejected, message }, touched) {
  if (rejected === kOnPurpose) return throws;
  // A bwrap --help that was stopped; one that was killed is asked again.
  if (rejected === "ERR_SANDBOX_UNAVAILABLE") {
    return touched.struck && message.includes("--help: it ran over");
  }
  // The session of a batch: it may not come to be, or end, and says so by the code.
  if (inBatch && (touched.struck || touched.replaced)) {
    if (["ERR_SANDBOX_CLOSED", "ERR_SANDBOX_SETUP"].includes(rejected)) return true;
  }
  return rejected === "ERR_SANDBOX_CLOSED" && (closedBefore || touched.closed);
}

function mayEndAs(begin, end, touched) {
  if (begin.expected.some((each) => matches(each, end))) return true;
  switch (end.kind) {
    case "timed-out":
      return begin.timeoutMs < kPatienceMs || touched.struck;
    case "aborted":
      // One that failed because it was struck ends a batch.
      if (begin.stopOnError && (touched.struck || touched.replaced)) return true;
      return begin.abortAfterMs !== undefined || touched.closed;
    case "exited": // such as a shell whose child was killed, or whose workspace has gone
    case "setup-failed":
      return touched.struck || touched.replaced;
    case "signaled": // the end of a session is that of its commands
      return (
        touched.struck ||
        (touched.closed && (begin.openedAt !== undefined || begin.inBatch === true))
      );
    default:
      return false;
  }
}

/** Whether the call was ended from outside, so that its output may be a part only. */
function isCut(begin, end, touched) {
  return !begin.expected.some((each) => matches(each, end)) || touched.struck || touched.replaced;
}

/**
 * A step of a shell session whose state was lost without a cause; one that was cut off loses it by that. Other commands
 * may take their shell's place.
 */
function stateFault(begin, end, touched) {
  const isCutOff = begin.command !== "shell state" || begin.endless || isCut(begin, end, touched);
  return end.lostState === undefined || isCutOff ? undefined : `lost its state: ${end.lostState}`;
}

function outputFault(begin, end, touched) {
  // The result says that it does not continue the step before.
  if (end.lostState !== undefined && touched.struck) return undefined;
  // A shell says on its terminal which of its processes was killed.
  const mayBeMixed = touched.replaced || (begin.hasTerminal && touched.struck);
  if (end.wrongOutput !== undefined && !mayBeMixed) return `wrong output: ${end.wrongOutput}`;
  const isWhole = !isCut(begin, end, touched);
  if (isWhole && end.notWhole !== undefined) return `not all of its output: ${end.notWhole}`;
  if (isWhole && begin.bytes !== undefined && begin.bytes !== end.written) {
    return `wrote ${begin.bytes} bytes, ${end.written} were counted`;
  }
  const kept = Math.min(begin.limit ?? 2 ** 20, end.written);
  if (end.kept !== kept || end.truncated !== kept < end.written) {
    return `kept ${end.kept} of ${end.written} bytes, ${kept} were right`;
  }
  return undefined;
}

/** What is wrong with how the call ended; undefined where nothing is. */
export function faultOf(begin, end, touched) {
  if (end.rejected !== undefined) {
    const reported = `rejected with ${end.rejected}: ${end.message}`;
    return mayReject(begin, end, touched) ? undefined : reported;
  }
  if (end.faults?.length > 0) return end.faults.join("; ");
  if (begin.closedBefore) return `${end.kind} on a runner that was closed`;
  const reported = `${end.kind} ${end.exitCode}${end.reason === undefined ? "" : ` (${end.reason})`}`;
  if (!mayEndAs(begin, end, touched)) return `implausible: ${reported}`;
  if (!kExitCodes[end.kind](end.exitCode)) return `the wrong exit code: ${reported}`;
  if (begin.throws && !isCut(begin, end, touched)) return `${reported}, though its callback threw`;
  return stateFault(begin, end, touched) ?? outputFault(begin, end, touched);
}
