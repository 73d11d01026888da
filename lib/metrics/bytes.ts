import type { RunnerMetrics, StreamMetrics } from "../../types/metrics.js";
import type { SandboxedExecResult } from "../../types/public.js";

function ofStream(kept: number, written: number): StreamMetrics {
  return { kept, dropped: written - kept };
}

/** What was kept and what was dropped of a run's output. */
export function bytesOf(result: SandboxedExecResult): RunnerMetrics["bytes"] {
  return {
    stdout: ofStream(result.stdout.length, result.stdoutBytes),
    stderr: ofStream(result.stderr.length, result.stderrBytes),
  };
}
