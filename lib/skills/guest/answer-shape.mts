/**
 * The answer of an engine process or worker, as it travels: JSON with the field names of the request
 * and answer protocol. What comes over the border is checked by ../answer.ts.
 */

/** What a skill's failure was. */
export type FailureKind =
  /** Not a module that can be instantiated: malformed, or it imports what there is not. */
  | "invalid"
  /** A trap: unreachable, out of bounds, call stack exhausted and so on. */
  | "trap"
  /** It ended itself with an exit code other than 0, or returned an error. */
  | "exit"
  /** One of its limits ended it. */
  | "limit"
  /** What it wrote is no text. */
  | "protocol";

/** Limits that end a skill. */
export type SkillLimitName = "memory" | "time" | "fuel" | "output";

/** One answer. `output` is there when `success` is true, `error` and `error_kind` when it is not. */
export type AnswerMessage = {
  success: boolean;
  output?: string;
  error?: string;
  error_kind?: FailureKind;
  limit?: SkillLimitName;
  exit_code?: number;
  fuel_consumed?: number;
  memory_peak_bytes?: number;
  duration_ms?: number;
  /** What the skill wrote to its standard error, as far as it was kept. */
  stderr?: string;
};

/** The request to an engine process, one JSON object on its standard input. */
export type RequestMessage = {
  wasm_path: string;
  input: string;
  trust_tier: string;
  resource_limits: {
    max_memory_bytes: number;
    max_duration_ms: number;
    max_fuel?: number;
    max_output_bytes: number;
  };
};
