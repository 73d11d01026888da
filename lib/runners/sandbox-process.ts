/** A command that runs while it is spoken with: what `spawn` gives. */

import { constants } from "node:os";
import type { Readable, Writable } from "node:stream";

import type {
  LiveEvent,
  NativeContext,
  NativeRun,
  NativeSpawnRequest,
  RunnerHandle,
} from "../../types/addon.js";
import type {
  SandboxedExecResult,
  SandboxProcess,
  TerminalSize,
  WaitForPortOptions,
} from "../../types/public.js";
import { fromNative, invalidState, invalidValue } from "../errors.js";
import { LiveInput, LiveOutput } from "./live-streams.js";
import { waitForPort } from "./port-wait.js";
import { endedBefore } from "./wait-for-port-error.js";

function signalNumber(name: unknown): number {
  if (typeof name === "string" && Object.hasOwn(constants.signals, name)) {
    return constants.signals[name as NodeJS.Signals];
  }
  throw invalidValue(`Expected \`signal\` to be a signal's name, got ${JSON.stringify(name)}`);
}

/** One live process. The supervisor's news come in over the callbacks; never throws into them. */
export class LiveProcess implements SandboxProcess {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable | null;
  readonly result: Promise<SandboxedExecResult>;
  /** Resolves when the command is started, or has ended before; rejects where none can be. */
  readonly started: Promise<void>;
  /** The run's number, for `abort`. */
  readonly id: number;

  readonly #handle: RunnerHandle;
  readonly #hasTerminal: boolean;

  /**
   * `follow` settles as the run does.
   * @throws what the addon throws for a wrong input.
   */
  constructor(
    handle: RunnerHandle,
    request: NativeSpawnRequest,
    context: NativeContext,
    follow: (run: NativeRun) => Promise<SandboxedExecResult>,
  ) {
    this.#handle = handle;
    this.#hasTerminal = request.pty !== undefined;
    const stdin = new LiveInput({
      write: (bytes) => handle.write(this.id, bytes),
      end: () => handle.endInput(this.id),
    });
    const output = (stream: "stdout" | "stderr") =>
      new LiveOutput(
        (bytes) => handle.grant(this.id, stream, bytes),
        () => handle.closeOutput(this.id, stream),
      );
    const stdout = output("stdout");
    const isOne = this.#hasTerminal || request.stderr === "merge";
    const stderr = isOne ? null : output("stderr");
    let start = () => {};
    const begun = new Promise<void>((resolve) => {
      start = resolve;
    });
    const onEvent = (event: LiveEvent) => {
      if (event === "started") start();
      else stdin.settle(event === "input-taken");
    };
    const run = handle.spawn(
      {
        ...request,
        onStdout: (chunk) => stdout.deliver(chunk),
        onStderr: (chunk) => stderr?.deliver(chunk),
        onEvent,
      },
      context,
    );
    this.id = run.id;
    this.stdin = stdin;
    this.stdout = stdout;
    this.stderr = stderr;
    const finish = () => {
      stdin.finish();
      stdout.finish();
      stderr?.finish();
    };
    this.result = follow(run)
      .finally(finish)
      .catch((error: unknown) => {
        throw fromNative(error);
      });
    this.started = Promise.race([begun, this.result.then(() => {})]);
    this.started.catch(() => {}); // who waits for it is told; `result` says the same
  }

  signal(name: NodeJS.Signals): void {
    this.#handle.signal(this.id, signalNumber(name));
  }

  async waitForPort(port: number, options: WaitForPortOptions = {}): Promise<void> {
    await waitForPort(this.#handle, this.id, port, options, async () => {
      return endedBefore(port, await this.result);
    });
  }

  resize(size: TerminalSize): void {
    if (!this.#hasTerminal) throw invalidState("resize: the process was started without `pty`");
    this.#handle.resize(this.id, size);
  }

  stop(): Promise<SandboxedExecResult> {
    this.#handle.abort(this.id);
    return this.result;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}
