/** A result in words, for the model: what it wrote, what was left out of that, and how it ended. */

/**
 * @typedef {import("@openagentic/native-runner").SandboxedExecResult} Result
 * @typedef {import("@openagentic/native-runner").Outcome} Outcome
 */

const count = (/** @type {number} */ number) => number.toLocaleString("en-US");

/**
 * The kept head and tail of a stream with a line between them that says how much is missing.
 * Characters that the cut went through are dropped.
 *
 * @param {Uint8Array} kept
 * @param {number} total bytes that were written
 */
export function streamText(kept, total) {
  const decoder = new TextDecoder();
  if (total <= kept.length) return decoder.decode(kept);
  const middle = Math.ceil(kept.length / 2);
  const head = decoder.decode(kept.subarray(0, middle)).replace(/\uFFFD+$/, "");
  const tail = decoder.decode(kept.subarray(middle)).replace(/^\uFFFD+/, "");
  return `${head}\n[... ${count(total - kept.length)} bytes left out ...]\n${tail}`;
}

/**
 * @param {Outcome} outcome
 * @param {number} exitCode
 * @param {number} timeoutMs
 */
export function endText(outcome, exitCode, timeoutMs) {
  switch (outcome.kind) {
    case "exited":
      return `exit code ${exitCode}`;
    case "signaled":
      return `ended by ${outcome.signal}`;
    case "timed-out":
      return `timed out after ${timeoutMs / 1000} s; all its processes were ended`;
    case "aborted":
      return "interrupted by the user; all its processes were ended";
    case "lease-expired":
      return "its lease expired; all its processes were ended";
    case "lost":
      return `how it ended is not known: ${outcome.reason}`;
    case "queue-timeout":
      return `it was not started: ${outcome.reason}`;
    case "limit-exceeded":
      return `ended: it went over the limit ${outcome.limit}`;
    case "setup-failed":
      return `the sandbox could not be set up, so the command did not run: ${outcome.reason}`;
    case "not-found":
      return "the program was not found";
    case "not-executable":
      return "the program could not be executed";
  }
}

/** @param {string} text */
const asLines = (text) => (text === "" || text.endsWith("\n") ? text : `${text}\n`);

/**
 * @param {Result} result
 * @param {number} timeoutMs
 */
export function resultText(result, timeoutMs) {
  const stdout = asLines(streamText(result.stdout, result.stdoutBytes));
  const stderr = asLines(streamText(result.stderr, result.stderrBytes));
  const output = stdout + (stderr === "" ? "" : `[stderr]\n${stderr}`);
  return `${output}[${endText(result.outcome, result.exitCode, timeoutMs)}]`;
}
