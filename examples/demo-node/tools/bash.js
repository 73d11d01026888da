import { bashParameters, kDefaultTimeoutMs, parseBashArguments } from "./bash-arguments.js";
import { endText, resultText } from "./result-text.js";

/**
 * @typedef {import("@openagentic/native-runner").SandboxedExecResult} Result
 * @typedef {{ exec(input: import("@openagentic/native-runner").NativeExecInput): Promise<Result> }} Runner
 * @typedef {{
 *   commandStarted(command: string): void,
 *   commandWrote(name: "stdout" | "stderr", chunk: Uint8Array): void,
 *   commandEnded(how: string, durationMs?: number): void,
 * }} Progress
 */

/** Bytes of each stream that the model gets to see. */
const kMaxOutputBytes = 16 * 1024;

const kMaxMemoryBytes = 2 * 1024 ** 3;

/** Bytes that a command may write in one file. */
const kMaxFileBytes = 256 * 1024 ** 2;

/** The tool that runs what the model wrote, in the workspace, through the selected runner. */
export class BashTool {
  name = "Bash";
  #runner;
  #environment;
  #progress;

  /**
   * @param {{ runner: () => Runner, environment: Record<string, string>, progress: Progress }} parts
   *   `runner`: the one at the time; `environment`: variables on top of what it lets through
   */
  constructor({ runner, environment, progress }) {
    this.#runner = runner;
    this.#environment = environment;
    this.#progress = progress;
    /** @type {import("@openagentic/native-runner").SandboxedAuditRecord | undefined} */
    this.lastAudit = undefined;
  }

  /** As the model's interface wants it. */
  get definition() {
    return /** @type {const} */ ({
      type: "function",
      function: {
        name: this.name,
        description: "Runs a command in the workspace and returns what it wrote and how it ended.",
        parameters: bashParameters(),
      },
    });
  }

  /**
   * The answer to one call; text in every case that the model can do something about.
   * @param {string} argumentsText
   * @param {AbortSignal} signal
   */
  async call(argumentsText, signal) {
    const parsed = parseBashArguments(argumentsText);
    if (!parsed.ok) return `[not run: ${parsed.reason}]`;
    const { command, stdin, timeout_ms: timeoutMs = kDefaultTimeoutMs } = parsed.value;
    if (command.includes("\0")) return "[not run: the command holds a NUL character]";
    this.#progress.commandStarted(command);
    let how = "it could not be run";
    try {
      const result = await this.#run(command, stdin, timeoutMs, signal);
      [this.lastAudit] = result.audits;
      how = endText(result.outcome, result.exitCode, timeoutMs);
      return resultText(result, timeoutMs);
    } finally {
      this.#progress.commandEnded(how, this.lastAudit?.durationMs);
    }
  }

  /**
   * @param {string} command
   * @param {string | undefined} stdin
   * @param {number} timeoutMs
   * @param {AbortSignal} signal
   */
  #run(command, stdin, timeoutMs, signal) {
    return this.#runner().exec({
      argv: ["bash", "-c", command],
      env: this.#environment,
      stdin: stdin === undefined ? undefined : new TextEncoder().encode(stdin),
      limits: {
        timeoutMs,
        maxStdoutBytes: kMaxOutputBytes,
        maxStderrBytes: kMaxOutputBytes,
        keep: "head+tail",
        memoryBytes: kMaxMemoryBytes,
        maxFileBytes: kMaxFileBytes,
      },
      signal,
      onStdout: (chunk) => this.#progress.commandWrote("stdout", chunk),
      onStderr: (chunk) => this.#progress.commandWrote("stderr", chunk),
    });
  }
}
