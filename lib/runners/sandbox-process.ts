/** A live process: the result of `spawn`. */

import { constants } from "node:os";
import { Readable, Writable, type WritableOptions } from "node:stream";

import type {
  LiveEvent,
  NativeContext,
  NativeRun,
  NativeSpawnRequest,
  PortAnswer,
  RunnerHandle,
} from "../../types/addon.js";
import type {
  ForwardOptions,
  PortForward,
  SandboxedExecResult,
  SandboxProcess,
  TerminalSize,
  WaitForPortOptions,
} from "../../types/public.js";
import {
  endedBefore,
  ForwardError,
  fromNative,
  invalidState,
  invalidValue,
  WaitForPortError,
} from "../errors.js";
import { expectObject } from "../fields.js";
import { checkSignal, onAbort } from "./abort.js";
import { openForward } from "./forward.js";

function signalNumber(name: unknown): number {
  if (typeof name === "string" && Object.hasOwn(constants.signals, name)) {
    return constants.signals[name as NodeJS.Signals];
  }
  throw invalidValue(`Expected \`signal\` to be a signal's name, got ${JSON.stringify(name)}`);
}

/** One live process. Receives the supervisor's events through callbacks, which never throw. */
export class LiveProcess implements SandboxProcess {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable | null;
  readonly result: Promise<SandboxedExecResult>;
  /** Resolves when the command has started, or has ended before; rejects if it can't start. */
  readonly started: Promise<void>;
  /** The run's number, for `abort`. */
  readonly id: number;

  readonly #handle: RunnerHandle;
  readonly #hasTerminal: boolean;

  /**
   * `follow` settles when the run does.
   * @throws any error of the addon for an invalid input.
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
    this.started.catch(() => {}); // `result` reports the same error
  }

  signal(name: NodeJS.Signals): void {
    this.#handle.signal(this.id, signalNumber(name));
  }

  async forward(port: number, options: ForwardOptions = {}): Promise<PortForward> {
    return openForward(this.#handle, this.id, port, options, async () => {
      const { outcome, exitCode } = await this.result;
      const message = `port ${port} can't be forwarded: the process has ended: ${outcome.kind}, exit code ${exitCode}`;
      return new ForwardError(message, { port, outcome });
    });
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

/**
 * The streams of a live process over the addon's calls. Bytes wait in three bounded buffers: the command's
 * pipe or terminal, the addon's window, and the stream's buffer up to its highWaterMark.
 */

const kHighWaterMark = 64 * 1024;
const kDestroyed = "ERR_STREAM_DESTROYED"; // Node's code for a write cut off by the end of its stream

/** One output of a live process; ends with the process. */
class LiveOutput extends Readable {
  readonly #grant: (bytes: number) => void;
  readonly #close: () => void;
  #taken = 0;

  /** `grant` requests that many more bytes; `close` reports that the output is no longer read. */
  constructor(grant: (bytes: number) => void, close: () => void) {
    super({ highWaterMark: kHighWaterMark });
    this.#grant = grant;
    this.#close = close;
  }

  deliver(chunk: Uint8Array): void {
    if (this.destroyed) return;
    this.#taken += chunk.length;
    this.push(chunk);
  }

  finish(): void {
    if (!this.destroyed) this.push(null);
  }

  override _read(): void {
    if (this.#taken === 0) return;
    const taken = this.#taken;
    this.#taken = 0;
    this.#grant(taken);
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#close();
    callback(error);
  }
}

/** The operations that {@link LiveInput} uses; each call is answered by one call of `settle`. */
type InputSink = {
  write(bytes: Uint8Array): void;
  end(): void;
};

type Done = (error?: Error | null) => void;

/**
 * The input of a live process. Input that a command does not read is not an error of the host: EPIPE is an
 * "error" event for listeners, and not an uncaught exception without any.
 */
class LiveInput extends Writable {
  readonly #sink: InputSink;
  #done: Done | undefined;
  #isLast = false;

  constructor(sink: InputSink) {
    const options: WritableOptions = { highWaterMark: kHighWaterMark };
    super(options);
    this.#sink = sink;
    this.on("error", () => {});
  }

  /** True: the kernel has the bytes of the last call. False: the input is no longer read. */
  settle(isTaken: boolean): void {
    const done = this.#done;
    this.#done = undefined;
    const isLost = !isTaken && !this.#isLast;
    const error = isLost ? Object.assign(new Error("write EPIPE"), { code: "EPIPE" }) : null;
    done?.(error);
  }

  /** Ends the input, because the process has ended. */
  finish(): void {
    this.settle(false);
    this.destroy();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: Done): void {
    this.#done = callback;
    this.#sink.write(chunk);
  }

  override _writev(chunks: { chunk: Buffer }[], callback: Done): void {
    this.#done = callback;
    this.#sink.write(Buffer.concat(chunks.map(({ chunk }) => chunk)));
  }

  override _final(callback: Done): void {
    this.#isLast = true;
    this.#done = callback;
    this.#sink.end();
  }

  // Node answers the writes that wait in its buffer; we answer the one in progress.
  override _destroy(error: Error | null, callback: Done): void {
    const done = this.#isLast ? undefined : this.#done;
    this.#done = undefined;
    if (!this.#isLast) this.#sink.end();
    callback(error);
    done?.(error ?? Object.assign(new Error("write after destroy"), { code: kDestroyed }));
  }
}

/**
 * Waits until a process in a sandbox listens on a port. The supervisor does the checks and keeps the time.
 */

/** Returns why the wait failed; the caller reports "gone" and "stopped". */
function refusalOf(answer: PortAnswer, port: number, timeoutMs = 30_000) {
  switch (answer) {
    case "timed-out":
      return new WaitForPortError(`nothing listens on port ${port} after ${timeoutMs} ms`, {
        port,
        fix: "see what the server prints, or give it more time with `timeoutMs`",
      });
    case "no-sockets":
      return new WaitForPortError(`nothing can listen on port ${port}: commands have no sockets`, {
        port,
        fix: 'use Bubblewrap, or `network: "allow"`',
      });
    case "unreadable":
      return new WaitForPortError(`the table of sockets can't be read for port ${port}`, {
        port,
        fix: "mount /proc without hidepid for the host application",
      });
    default:
      return undefined;
  }
}

/**
 * Resolves when a process listens in the sandbox of the live process `id`, or of the session if `id` is 0.
 * `ended` creates the error for a process or session that has ended; `options` is checked here.
 */
export async function waitForPort(
  handle: RunnerHandle,
  id: number,
  port: number,
  options: WaitForPortOptions,
  ended: () => Promise<Error>,
): Promise<void> {
  expectObject(options, "options");
  const { timeoutMs, intervalMs } = options;
  const signal = checkSignal(options.signal);
  signal?.throwIfAborted();
  try {
    const wait = handle.waitForPort(id, port, { timeoutMs, intervalMs });
    const unsubscribe = onAbort(signal, () => handle.stopWait(wait.id));
    const answer = await wait.done.finally(unsubscribe);
    if (answer === "listening") return;
    if (answer === "stopped") throw signal?.reason;
    throw refusalOf(answer, port, timeoutMs) ?? (await ended());
  } catch (error) {
    throw fromNative(error);
  }
}
