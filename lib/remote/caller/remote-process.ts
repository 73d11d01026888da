import { constants } from "node:os";
import { Readable, Writable } from "node:stream";

import type {
  ForwardOptions,
  NativeSpawnInput,
  PortForward,
  SandboxedExecResult,
  SandboxProcess,
  TerminalSize,
  WaitForPortOptions,
} from "../../../types/public.js";
import {
  endedBefore,
  ForwardError,
  invalidState,
  invalidType,
  invalidValue,
} from "../../errors.js";
import { withReason } from "../../exec-result.js";
import { checkSignal, onAbort } from "../../runners/abort.js";
import { deferred } from "../deferred.js";
import { OutputCollector, type RemotePlace } from "./remote-place.js";
import type { RemoteRun } from "./remote-run.js";
import { spawnInputOf } from "./request-of.js";

/** Bytes of input that may be in transit. */
const kWindow = 1024 ** 2;

/** A live process on a worker, with streams for its input and output. */
export class RemoteProcess implements SandboxProcess {
  readonly stdin: RemoteInput;
  readonly stdout: RemoteOutput;
  stderr: RemoteOutput | null;
  readonly result: Promise<SandboxedExecResult>;
  readonly #place: RemotePlace;
  readonly #run: RemoteRun;
  readonly #hasTerminal: boolean;

  private constructor(
    place: RemotePlace,
    { input, hasTerminal, signal }: ReturnType<typeof spawnInputOf>,
    started: () => void,
  ) {
    this.#place = place;
    this.#hasTerminal = hasTerminal;
    const { caller, credit } = place;
    const output = (stream: 1 | 2) =>
      new RemoteOutput(
        credit,
        (bytes) => caller.tell(run, { t: "credit", stream, bytes }),
        () => caller.tell(run, { t: "outputClosed", stream }),
      );
    this.stdout = output(1);
    const stderr = output(2);
    const isMerged = (input as { stderr?: unknown }).stderr === "merge";
    this.stderr = hasTerminal || isMerged ? null : stderr;
    this.stdin = new RemoteInput(
      kWindow,
      (bytes) => caller.tell(run, { t: "input" }, Buffer.from(bytes)), // copied, as it may have to be sent again
      () => caller.tell(run, { t: "inputEnd" }),
    );
    const begun = performance.now();
    const streams = { 1: this.stdout, 2: stderr };
    const run: RemoteRun = place.begin(
      "spawn",
      { input, isLive: true, credit },
      {
        out: (stream, bytes) => streams[stream].deliver(bytes),
        began: started,
        taken: (bytes) => this.stdin.taken(bytes),
        inputClosed: () => this.stdin.closedByCommand(),
      },
    );
    this.#run = run;
    const unsubscribe = onAbort(signal, () => caller.abort(run));
    const { argv } = input as { argv: string[] };
    this.result = place
      .ended(run)
      .then((end) => {
        if (end.kind === "ended" && !end.error) {
          for (const at of [0, 1] as const) {
            const rest = end.rest[at];
            if (rest?.length) streams[at === 0 ? 1 : 2].deliver(rest);
          }
          end.rest = []; // already delivered to the streams
        }
        const nothing = new OutputCollector(kWindow, { taken: () => {} });
        const result = place.result(end, argv, nothing, run.grantedAt - begun);
        (this.stderr ?? this.stdout).deliver(result.stderr); // the reason for a failed sandbox setup
        result.stderr = new Uint8Array(0);
        return withReason(result, signal);
      })
      .finally(() => {
        unsubscribe();
        started();
        this.stdin.finish();
        this.stdout.finish();
        stderr.finish();
      });
    this.result.catch(() => {}); // the owner of the process gets the rejection from `result`
  }

  /**
   * Resolves once the command has started, or has ended before.
   * @throws (rejects) on a wrong input
   */
  static async spawn(place: RemotePlace, given: NativeSpawnInput): Promise<RemoteProcess> {
    if (typeof given !== "object" || given === null) throw invalidType("input", "an object", given);
    const signal = checkSignal(given.signal);
    const asked = { ...spawnInputOf(given), signal };
    const { promise: started, resolve } = deferred<void>();
    const process = new RemoteProcess(place, asked, resolve);
    if (signal?.aborted) place.caller.abort(process.#run);
    await started;
    const end = await Promise.race([process.#run.end, undefined]);
    if (end?.kind === "failed" || (end?.kind === "ended" && end.error)) await process.result;
    return process;
  }

  /** @throws (rejects) always: its port would be one of the worker. */
  async forward(port: number, _options: ForwardOptions = {}): Promise<PortForward> {
    throw notForwarded(port);
  }

  async waitForPort(port: number, options: WaitForPortOptions = {}): Promise<void> {
    const answer = portWait(this.#place, this.#run, port, options);
    await answer.catch(async (error: { code?: unknown }) => {
      if (error.code !== "ERR_SANDBOX_CLOSED") throw error;
      throw endedBefore(port, await this.result);
    });
  }

  resize(size: TerminalSize): void {
    if (!this.#hasTerminal) throw invalidState("resize: the process was started without `pty`");
    void this.#place.caller.call(this.#run, "resize", [size]).catch(() => {});
  }

  signal(name: NodeJS.Signals): void {
    if (typeof name !== "string" || !Object.hasOwn(constants.signals, name)) {
      throw invalidValue(`Expected \`signal\` to be a signal's name, got ${JSON.stringify(name)}`);
    }
    void this.#place.caller.call(this.#run, "signal", [name]).catch(() => {}); // the process has ended
  }

  stop(): Promise<SandboxedExecResult> {
    this.#place.caller.abort(this.#run);
    return this.result;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

/** Returns the error of `forward` for a sandbox of another machine. */
export const notForwarded = (port: number): ForwardError =>
  new ForwardError(`port ${port} can't be forwarded: the command runs on a worker`, {
    port,
    fix: "forward ports of sandboxes of this machine only",
  });

/**
 * Waits on the worker until a port accepts connections.
 * @throws (rejects) as `waitForPort`; ERR_SANDBOX_CLOSED when the run has ended
 */
export async function portWait(
  { caller }: RemotePlace,
  run: RemoteRun,
  port: number,
  options: WaitForPortOptions,
): Promise<void> {
  if (typeof options !== "object" || options === null) {
    throw invalidType("options", "an object", options);
  }
  const { timeoutMs, intervalMs } = options;
  const signal = checkSignal(options.signal);
  signal?.throwIfAborted();
  const sent = { timeoutMs, intervalMs };
  await untilAborted(caller.call(run, "waitForPort", [port, sent]), signal);
}

/** Rejects with the signal's reason once it is aborted. */
async function untilAborted<Value>(
  value: Promise<Value>,
  signal: AbortSignal | undefined,
): Promise<Value> {
  const { promise, reject } = deferred<never>();
  const unsubscribe = onAbort(signal, () => reject(signal?.reason));
  try {
    return await Promise.race([value, promise]);
  } finally {
    unsubscribe();
  }
}

/** Streams of a live process on a worker. Bytes in transit are limited by windows that both sides know. */

const kHighWaterMark = 64 * 1024;
const kMostInMessage = 64 * 1024;
/** Credit is returned in this many parts of the window; each is a message. */
const kSteps = 4;

/** One output stream. Reading from it returns credit to the worker. */
class RemoteOutput extends Readable {
  readonly #step: number;
  readonly #taken: (bytes: number) => void;
  readonly #closed: () => void;
  #lostResult = 0;

  /** @param window bytes that the worker may send before it gets credit */
  constructor(window: number, taken: (bytes: number) => void, closed: () => void) {
    super({ highWaterMark: kHighWaterMark });
    this.#step = Math.ceil(window / kSteps);
    this.#taken = taken;
    this.#closed = closed;
  }

  deliver(bytes: Uint8Array): void {
    if (this.destroyed) return;
    this.#lostResult += bytes.length;
    this.push(bytes);
  }

  finish(): void {
    if (!this.destroyed) this.push(null);
  }

  override _read(): void {
    if (this.#lostResult < this.#step) return; // the worker still has the rest of its window
    const bytes = this.#lostResult;
    this.#lostResult = 0;
    this.#taken(bytes);
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#closed();
    callback(error);
  }
}

type Done = (error?: Error | null) => void;

/** The input stream. At most `window` bytes are in transit to the command. */
class RemoteInput extends Writable {
  readonly #send: (bytes: Uint8Array) => void;
  readonly #end: () => void;
  #room: number;
  #untaken = 0;
  #waiting: { bytes: Uint8Array; done: Done } | undefined;
  #isClosed = false;

  constructor(window: number, send: (bytes: Uint8Array) => void, end: () => void) {
    super({ highWaterMark: kHighWaterMark });
    this.#room = window;
    this.#send = send;
    this.#end = end;
    this.on("error", () => {}); // a command that does not read its input is no error of the host
  }

  /** Records that the command has taken `bytes` bytes. */
  taken(bytes: number): void {
    this.#room += bytes;
    this.#untaken = Math.max(0, this.#untaken - bytes);
    this.#go();
  }

  /** Records that the command has closed its input. */
  closedByCommand(): void {
    this.#isClosed = true;
    this.#go();
  }

  /** Ends the stream after the command has ended. */
  finish(): void {
    this.closedByCommand();
    this.destroy();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: Done): void {
    this.#waiting = { bytes: chunk, done };
    this.#go();
  }

  override _writev(chunks: { chunk: Buffer }[], done: Done): void {
    this.#waiting = { bytes: Buffer.concat(chunks.map(({ chunk }) => chunk)), done };
    this.#go();
  }

  override _final(done: Done): void {
    this.#end();
    done();
  }

  override _destroy(error: Error | null, done: Done): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (!this.writableFinished) this.#end();
    done(error);
    const cut = Object.assign(new Error("write after destroy"), { code: "ERR_STREAM_DESTROYED" });
    waiting?.done(error ?? cut);
  }

  #go(): void {
    const waiting = this.#waiting;
    if (waiting === undefined) return;
    if (this.#isClosed) {
      this.#waiting = undefined;
      waiting.done(Object.assign(new Error("write EPIPE"), { code: "EPIPE" }));
      return;
    }
    while (waiting.bytes.length > 0 && this.#room > 0) {
      const piece = waiting.bytes.subarray(0, Math.min(kMostInMessage, this.#room));
      waiting.bytes = waiting.bytes.subarray(piece.length);
      this.#room -= piece.length;
      this.#untaken += piece.length;
      this.#send(piece);
    }
    // As for a local process, a write is complete when the command's pipe or terminal has the bytes.
    if (waiting.bytes.length > 0 || this.#untaken > 0) return;
    this.#waiting = undefined;
    waiting.done();
  }
}
