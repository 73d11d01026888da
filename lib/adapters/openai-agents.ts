/** `@openagentic/native-runner/openai-agents`: a `Shell` for OpenAI's agents SDK, in the sandbox. */

import type { Shell } from "@openai/agents";

import type { NativeLimits, NativeRunner } from "../../types/public.js";
import { expectFields, type FieldsOf } from "../fields.js";
import { outcomeWords, shellWords } from "../mcp/words.js";

/** Options of {@link createSandboxShell}. */
export type SandboxShellOptions = {
  /** Limits of each command; a call may request less, and never more. */
  limits?: NativeLimits | undefined;
  /** Directory in which commands start, relative to the workspace. Default: its root. */
  cwd?: string | undefined;
  /** Variables for all commands. */
  env?: Record<string, string> | undefined;
  /** Ends running commands when it is aborted. */
  signal?: AbortSignal | undefined;
};

const kOptions: FieldsOf<SandboxShellOptions> = {
  limits: true,
  cwd: true,
  env: true,
  signal: true,
};
const kMostOutput = 1024 ** 2;
const kTimeoutMs = 60_000;

/** Returns a number that a model may have chosen, limited to `most`. */
const atMost = (asked: number | undefined, most: number) =>
  asked !== undefined && Number.isFinite(asked) && asked > 0 ? Math.min(asked, most) : most;

/**
 * Returns a shell for `shellTool({ shell, needsApproval })`. Commands of one call run one after the other, each in its
 * own sandbox, until one does not end by itself. If output is too long, its beginning and end are kept.
 *
 * @param runner any runner, or a transaction: then changes wait for a commit
 * @throws TypeError on a wrong option
 * @example
 * const agent = new Agent({ name, tools: [shellTool({ shell: createSandboxShell(transaction) })] });
 */
export function createSandboxShell(runner: NativeRunner, options: SandboxShellOptions = {}): Shell {
  expectFields(options, "options", kOptions);
  const { limits = {}, cwd, env, signal } = options;
  return {
    async run({ commands, timeoutMs, maxOutputLength }) {
      const kept = Math.floor(atMost(maxOutputLength, limits.maxStdoutBytes ?? kMostOutput));
      const output: Awaited<ReturnType<Shell["run"]>>["output"] = [];
      for (const command of commands) {
        const result = await runner.exec({
          ...{ argv: shellWords(command), cwd, env, signal },
          limits: {
            ...limits,
            ...{ maxStdoutBytes: kept, maxStderrBytes: kept, keep: "head+tail" as const },
            timeoutMs: atMost(timeoutMs, limits.timeoutMs ?? kTimeoutMs),
          },
        });
        const { exitCode, outcome = { kind: "exited" as const } } = result;
        const stderr = new TextDecoder().decode(result.stderr);
        const isOdd = !["exited", "timed-out", "not-found"].includes(outcome.kind);
        output.push({
          stdout: new TextDecoder().decode(result.stdout),
          stderr: isOdd ? `${stderr}\n[${outcomeWords({ outcome, exitCode })}]` : stderr,
          outcome: outcome.kind === "timed-out" ? { type: "timeout" } : { type: "exit", exitCode },
        });
        if (outcome.kind !== "exited" && outcome.kind !== "not-found") break;
      }
      return maxOutputLength === undefined ? { output } : { output, maxOutputLength: kept };
    },
  };
}
