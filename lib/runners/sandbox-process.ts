/** A command that runs while it is spoken with: what `spawn` gives. */

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
  SandboxedExecResult,
  SandboxProcess,
  TerminalSize,
  WaitForPortOptions,
} from "../../types/public.js";
import {
  endedBefore,
  fromNative,
  invalidState,
  invalidType,
  invalidValue,
  WaitForPortError,
} from "../errors.js";
import { checkSignal, onAbort } from "./abort.js";

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
    this.started.catch(() => {}); // who waits for it is reported; `result` says the same
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

/**
 * The streams of a live process over the addon's calls. Bytes wait in three bounded places: the
 * command's pipe or terminal, the addon's window, and the stream's buffer up to its highWaterMark.
 */

const kHighWaterMark = 64 * 1024;
const kDestroyed = "ERR_STREAM_DESTROYED"; // Node's, for a write that its stream's end cut off

/** One output of a live process; ends when the process has. */
class LiveOutput extends Readable {
  readonly #grant: (bytes: number) => void;
  readonly #close: () => void;
  #taken = 0;

  /** `grant` asks for as many bytes more; `close` says that nobody reads any more. */
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

/** What {@link LiveInput} needs; each call is answered by one of `settle`. */
type InputSink = {
  write(bytes: Uint8Array): void;
  end(): void;
};

type Done = (error?: Error | null) => void;

/**
 * The input of a live process. What a command does not read is no fault of the host: EPIPE is an
 * "error" event for those who listen, and no uncaught exception for those who do not.
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

  /** The kernel has the bytes of the last call, or (false) nobody reads them any more. */
  settle(isTaken: boolean): void {
    const done = this.#done;
    this.#done = undefined;
    const isLost = !isTaken && !this.#isLast;
    const error = isLost ? Object.assign(new Error("write EPIPE"), { code: "EPIPE" }) : null;
    done?.(error);
  }

  /** The process has ended. */
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

  // Node answers the writes that wait in its buffer; the one that is under way is ours.
  override _destroy(error: Error | null, callback: Done): void {
    const done = this.#isLast ? undefined : this.#done;
    this.#done = undefined;
    if (!this.#isLast) this.#sink.end();
    callback(error);
    done?.(error ?? Object.assign(new Error("write after destroy"), { code: kDestroyed }));
  }
}

/** Waiting until something in a sandbox listens on a port. The supervisor looks, and keeps the time. */

/** Why nothing listens; "gone" and "stopped" are the caller's to tell. */
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
 * Resolves when something listens in the sandbox of the live process `id`, or of the session when it
 * is 0. `ended` makes the error for a process or session that has ended; `options` is checked here.
 */
export async function waitForPort(
  handle: RunnerHandle,
  id: number,
  port: number,
  options: WaitForPortOptions,
  ended: () => Promise<Error>,
): Promise<void> {
  if (typeof options !== "object" || options === null) {
    throw invalidType("options", "an object", options);
  }
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
