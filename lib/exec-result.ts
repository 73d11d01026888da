/**
 * Builds a run's result from the addon's report. The addon calls it once per run: an object created here
 * costs a tenth of setting its properties one by one in native code, and a flat object half of a nested one.
 * Never throws.
 */

import type { MakeResult } from "../types/addon.js";
import type {
  Denial,
  Outcome,
  SandboxedAuditRecord,
  SandboxedExecResult,
  ShellStateReport,
  Usage,
} from "../types/public.js";
import { withCli } from "./denials/advice-lists.js";

const kDecoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Its texts are getters of the prototype, so a result is cloned, compared and printed without them. */
class RunResult implements SandboxedExecResult {
  exitCode: number;
  stdout: Uint8Array;
  stderr: Uint8Array;
  truncatedStdout: boolean;
  truncatedStderr: boolean;
  outcome: Outcome;
  stdoutBytes: number;
  stderrBytes: number;
  usage: Usage;
  audits: SandboxedAuditRecord[];
  denials: Denial[];
  denialsOmitted: number;
  declare shellState?: ShellStateReport;

  constructor(
    exitCode: number,
    stdout: Uint8Array,
    stderr: Uint8Array,
    truncatedStdout: boolean,
    truncatedStderr: boolean,
    outcome: Outcome,
    stdoutBytes: number,
    stderrBytes: number,
    usage: Usage,
    audits: SandboxedAuditRecord[],
    denials: Denial[],
    denialsOmitted: number,
  ) {
    this.exitCode = exitCode;
    this.stdout = stdout;
    this.stderr = stderr;
    this.truncatedStdout = truncatedStdout;
    this.truncatedStderr = truncatedStderr;
    this.outcome = outcome;
    this.stdoutBytes = stdoutBytes;
    this.stderrBytes = stderrBytes;
    this.usage = usage;
    this.audits = audits;
    this.denials = denials;
    this.denialsOmitted = denialsOmitted;
  }

  get stdoutText(): string {
    return kDecoder.decode(this.stdout);
  }

  get stderrText(): string {
    return kDecoder.decode(this.stderr);
  }
}

/** Returns a result from its reported fields and its output: for a run on another machine. */
export function resultWith(
  reported: Omit<SandboxedExecResult, "stdout" | "stderr" | "stdoutText" | "stderrText">,
  stdout: Uint8Array,
  stderr: Uint8Array,
): SandboxedExecResult {
  const result = new RunResult(
    reported.exitCode,
    stdout,
    stderr,
    reported.truncatedStdout,
    reported.truncatedStderr,
    reported.outcome,
    reported.stdoutBytes,
    reported.stderrBytes,
    reported.usage,
    reported.audits,
    reported.denials,
    reported.denialsOmitted,
  );
  if (reported.shellState !== undefined) result.shellState = reported.shellState;
  return result;
}

/**
 * Adds the abort reason to the outcome of an aborted run; not enumerable, since a reason may be any value.
 */
export function withReason(
  result: SandboxedExecResult,
  signal: AbortSignal | undefined,
): SandboxedExecResult {
  if (result.outcome.kind === "aborted" && signal?.aborted) {
    Object.defineProperty(result.outcome, "reason", { value: signal.reason });
  }
  return result;
}

export const makeResult: MakeResult = (
  exitCode,
  outcome,
  stdout,
  stderr,
  truncatedStdout,
  truncatedStderr,
  stdoutBytes,
  stderrBytes,
  userCpuMs,
  systemCpuMs,
  peakMemoryBytes,
  cmd,
  options,
  command,
  cwd,
  durationMs,
  signal,
  runtime,
  layers,
  policyHash,
  queueMs,
  setupMs,
  commandMs,
  teardownMs,
  start,
  coldReason,
  kill,
  shellState,
  connections,
  connectionsOmitted,
  denials,
  denialsOmitted,
) => {
  const timedOut = outcome.kind === "timed-out";
  const usage = { userCpuMs, systemCpuMs, peakMemoryBytes };
  const audit: SandboxedAuditRecord = {
    kind: "native.exec",
    cmd,
    argv: options.concat(command),
    durationMs,
    timedOut,
    signal,
    truncatedStdout,
    truncatedStderr,
    runtime,
    layers: layers.slice(),
    policyHash,
    outcome: outcome.kind,
    usage: { userCpuMs, systemCpuMs, peakMemoryBytes },
    timing: { queueMs, setupMs, commandMs, teardownMs },
    start,
    prewarmed: start === "prewarmed",
    kill,
  };
  if (coldReason !== undefined) audit.coldReason = coldReason;
  if (cwd !== undefined) audit.cwd = cwd;
  if (connections !== undefined) audit.connections = connections;
  if (connectionsOmitted > 0) audit.connectionsOmitted = connectionsOmitted;
  const reported = denials === undefined ? [] : denials.map(withCli);
  if (denials !== undefined) audit.denials = denials.map(withCli);
  if (denialsOmitted > 0) audit.denialsOmitted = denialsOmitted;
  const result = new RunResult(
    exitCode,
    stdout,
    stderr,
    truncatedStdout,
    truncatedStderr,
    outcome,
    stdoutBytes,
    stderrBytes,
    usage,
    [audit],
    reported,
    denialsOmitted,
  );
  if (shellState !== undefined) result.shellState = shellState;
  return result;
};
