/** Results of runs that no worker has told of. Pure. */

import type { Outcome, SandboxedExecResult } from "../../../../types/public.js";
import { resultWith } from "../../../runners/result.js";
import type { RunEnd } from "../remote-run.js";

const kNotKnown = 125;
const kAborted = 130;

/** An end of which no result has come. */
export type Untold =
  | Exclude<RunEnd, { kind: "ended" } | { kind: "failed" }>
  /** Its worker could not begin with it. */
  | { kind: "setup-failed"; reason: string };

/**
 * @param argv of the command, for its record.
 * @param policyHash of what was asked for.
 * @param waitedMs from the call to its end.
 */
export function untoldResult(
  end: Untold,
  argv: readonly string[],
  { policyHash, waitedMs }: { policyHash: string; waitedMs: number },
): SandboxedExecResult {
  const outcome: Outcome = { ...end };
  const usage = { userCpuMs: 0, systemCpuMs: 0, peakMemoryBytes: 0 };
  const isLost = end.kind === "lost";
  const said = Buffer.from(end.kind === "setup-failed" ? `${end.reason}\n` : "");
  return resultWith(
    {
      exitCode: end.kind === "aborted" ? kAborted : kNotKnown,
      truncatedStdout: false,
      truncatedStderr: false,
      outcome,
      stdoutBytes: 0,
      stderrBytes: said.length,
      usage,
      audits: [
        {
          kind: "native.exec",
          cmd: argv[0] ?? "",
          argv: [...argv],
          durationMs: 0,
          timedOut: false,
          signal: null,
          truncatedStdout: false,
          truncatedStderr: false,
          runtime: "remote",
          layers: [],
          policyHash,
          outcome: outcome.kind,
          usage: { ...usage },
          timing: { queueMs: waitedMs, setupMs: 0, commandMs: 0, teardownMs: 0 },
          start: "cold",
          prewarmed: false,
          kill: isLost ? end.ended : null,
        },
      ],
      denials: [],
      denialsOmitted: 0,
    },
    new Uint8Array(0),
    new Uint8Array(said),
  );
}
