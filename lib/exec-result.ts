/** Builds a run's result from the addon's report, once per run. Never throws. */

import type { MakeResult, NativeReport } from "../types/addon.js";
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

const kStrictDecoder = new TextDecoder("utf-8", { ignoreBOM: true, fatal: true });

/** Returns bytes as text; as they are if they are none. */
function shown(bytes: Uint8Array): string | Uint8Array {
  try {
    return kStrictDecoder.decode(bytes);
  } catch {
    return bytes;
  }
}

type ResultFields = Omit<SandboxedExecResult, "shellState" | "stdoutText" | "stderrText"> & {
  shellState?: ShellStateReport | undefined;
  endedMs?: number;
};

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
  /** Undefined for a run on another machine, whose clock is another. */
  readonly #endedMs: number | undefined;

  constructor(fields: ResultFields) {
    this.#endedMs = fields.endedMs;
    this.exitCode = fields.exitCode;
    this.stdout = fields.stdout;
    this.stderr = fields.stderr;
    this.truncatedStdout = fields.truncatedStdout;
    this.truncatedStderr = fields.truncatedStderr;
    this.outcome = fields.outcome;
    this.stdoutBytes = fields.stdoutBytes;
    this.stderrBytes = fields.stderrBytes;
    this.usage = fields.usage;
    this.audits = fields.audits;
    this.denials = fields.denials;
    this.denialsOmitted = fields.denialsOmitted;
    if (fields.shellState !== undefined) this.shellState = fields.shellState;
  }

  /** For console.log: output that is text is shown as text. */
  [Symbol.for("nodejs.util.inspect.custom")](
    _depth: number,
    options: object,
    inspect: (value: unknown, options: object) => string,
  ): string {
    return inspect({ ...this, stdout: shown(this.stdout), stderr: shown(this.stderr) }, options);
  }

  /** Milliseconds of the Unix epoch when the run had ended; now, for one that was not of this process. */
  static endedMs(result: SandboxedExecResult): number {
    return (result instanceof RunResult ? result.#endedMs : undefined) ?? Date.now();
  }

  get stdoutText(): string {
    return kDecoder.decode(this.stdout);
  }

  get stderrText(): string {
    return kDecoder.decode(this.stderr);
  }
}

/**
 * Returns when the run had ended, in milliseconds of the Unix epoch by the host's clock. The caller may hear of it
 * much later: its event loop may be busy.
 */
export const endedMsOf = (result: SandboxedExecResult): number => RunResult.endedMs(result);

/** Returns a result from its reported fields and its output: for a run on another machine. */
export function resultWith(
  reported: Omit<ResultFields, "stdout" | "stderr">,
  stdout: Uint8Array,
  stderr: Uint8Array,
): SandboxedExecResult {
  return new RunResult({ ...reported, stdout, stderr });
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

/** Returns the result of a run that the addon has reported. */
export function resultOf(report: NativeReport): SandboxedExecResult {
  const { outcome, start, userCpuMs, systemCpuMs, peakMemoryBytes } = report;
  const { queueMs, setupMs, commandMs, teardownMs } = report;
  const audit: SandboxedAuditRecord = {
    kind: "native.exec",
    cmd: report.cmd,
    argv: report.options.concat(report.command),
    durationMs: report.durationMs,
    timedOut: outcome.kind === "timed-out",
    signal: report.signal,
    truncatedStdout: report.truncatedStdout,
    truncatedStderr: report.truncatedStderr,
    runtime: report.runtime,
    layers: report.layers.slice(),
    policyHash: report.policyHash,
    outcome: outcome.kind,
    usage: { userCpuMs, systemCpuMs, peakMemoryBytes },
    timing: { queueMs, setupMs, commandMs, teardownMs },
    start,
    prewarmed: start === "prewarmed",
    kill: report.kill,
  };
  if (report.coldReason !== undefined) audit.coldReason = report.coldReason;
  if (report.namespaces !== undefined) audit.namespaces = report.namespaces;
  if (report.cwd !== undefined) audit.cwd = report.cwd;
  if (report.connections !== undefined) audit.connections = report.connections;
  if (report.connectionsOmitted > 0) audit.connectionsOmitted = report.connectionsOmitted;
  if (report.forwards !== undefined) audit.forwards = report.forwards;
  if (report.denials !== undefined) audit.denials = report.denials.map(withCli);
  if (report.denialsOmitted > 0) audit.denialsOmitted = report.denialsOmitted;
  return new RunResult({
    ...report,
    usage: { userCpuMs, systemCpuMs, peakMemoryBytes },
    audits: [audit],
    denials: report.denials === undefined ? [] : report.denials.map(withCli),
  });
}

/**
 * Returns the function that the addon calls for each run. `fields`: NativeAddon's `reportFields`. The addon
 * passes values, not an object: it would spend ten times as long on an object as on a call.
 */
export function resultMaker(fields: readonly (keyof NativeReport)[]): MakeResult {
  return (...values) => {
    const report: Partial<Record<keyof NativeReport, unknown>> = {};
    fields.forEach((field, index) => {
      report[field] = values[index];
    });
    return resultOf(report as NativeReport);
  };
}
