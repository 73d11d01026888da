import type { SandboxedAuditRecord } from "../../types/public.js";

/**
 * Who kept a limit: the engine itself, this package's supervision (a deadline), or the operating
 * system; what it came to where that differs ("os: 2 s of CPU time").
 */
export type SkillEnforcement = {
  /** `maxMemoryBytes`. */
  memory: string;
  /** `maxDurationMs`. */
  time: string;
  /** `maxOutputBytes`. */
  output: string;
  /** Absent when no fuel limit was set. */
  fuel?: string;
};

/** What a skill's run gave. */
export type SkillExecutionResult = {
  /** What the skill wrote to its standard output, or what its `execute` returned. */
  output: string;
  /** Where the engine tells. */
  fuelConsumed?: number;
  /** Bytes of the linear memory at its end (it never shrinks), where the engine tells. */
  memoryPeakBytes?: number;
  /** Milliseconds, the start of the engine included. */
  durationMs: number;
  /** What the skill, and its engine, wrote to standard error. */
  stderr: string;
  /** The engine's name. */
  engine: string;
  /** What stood between the skill and the host: "wasm", and "os:bubblewrap" or "os:landlock". */
  walls: readonly string[];
  /** Who kept which limit. */
  enforced: SkillEnforcement;
  /** The records of the processes that ran; none for a direct run in a worker. */
  audits: SandboxedAuditRecord[];
};
