import { mountsOf, raised } from "../access/granted.js";
import { quoted } from "../terminal/visible-text.js";
import { bashParameters, kDefaultTimeoutMs, parseBashArguments } from "./bash-arguments.js";
import { endText, resultText } from "./result-text.js";

/**
 * @typedef {import("@openagentic/native-runner").SandboxedExecResult} Result
 * @typedef {import("../access/granted.js").Mount} Mount
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
  #progress;
  #access;

  /**
   * @param {{ runner: (mounts: Mount[]) => Promise<Runner>, progress: Progress,
   *   access: import("../access/access.js").Access }} parts
   *   `runner`: the one at the time, with these mounts besides
   */
  constructor({ runner, progress, access }) {
    this.#access = access;
    this.#runner = runner;
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
      const denied = this.#access.tell(command, result.denials, result.denialsOmitted);
      return [resultText(result, timeoutMs), denied].filter(Boolean).join("\n");
    } catch (error) {
      // A runner refuses places that nothing may be mounted at, such as the root directory.
      if (!(error instanceof TypeError)) throw error;
      return `[not run: ${quoted(error.message)}]`;
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
  async #run(command, stdin, timeoutMs, signal) {
    const grants = this.#access.take(command);
    const runner = await this.#runner(mountsOf(grants));
    const limits = {
      timeoutMs,
      maxStdoutBytes: kMaxOutputBytes,
      maxStderrBytes: kMaxOutputBytes,
      keep: /** @type {const} */ ("head+tail"),
      memoryBytes: kMaxMemoryBytes,
      maxFileBytes: kMaxFileBytes,
    };
    return runner.exec({
      argv: ["bash", "-c", command],
      stdin: stdin === undefined ? undefined : new TextEncoder().encode(stdin),
      limits: raised(limits, grants),
      explain: true,
      signal,
      onStdout: (chunk) => this.#progress.commandWrote("stdout", chunk),
      onStderr: (chunk) => this.#progress.commandWrote("stderr", chunk),
    });
  }
}
