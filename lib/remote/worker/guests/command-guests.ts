import type { Readable } from "node:stream";

import type {
  NativeExecInput,
  NativeSpawnInput,
  SandboxedExecResult,
  SandboxProcess,
  TerminalSize,
} from "../../../../types/public.js";
import type { BatchOptions } from "../../../../types/session.js";
import { SandboxError } from "../../../errors.js";
import type { ToWorker } from "../../wire/messages.js";
import { errorShape } from "../../wire/plain.js";
import type { Guest, GuestEnd, Host, Place } from "../guest.js";
import { Output, type StdinBuffer, type StreamNumber } from "../streams.js";

/** Commands that get all their input before they start, and whose output is sent as far as the caller gives credit. */
abstract class CommandGuest implements Guest {
  abstract readonly done: Promise<GuestEnd>;
  protected readonly output: Output;
  protected readonly stdin: StdinBuffer;
  readonly #abort = new AbortController();
  readonly #what: string;

  /** @param what name of the guest in errors */
  constructor(what: string, stdin: StdinBuffer, host: Host) {
    this.#what = what;
    this.output = new Output(host.credit, host.out);
    this.stdin = stdin;
    if (host.isAborted()) this.#abort.abort();
  }

  /** Aborted by {@link abort}. */
  protected get signal(): AbortSignal {
    return this.#abort.signal;
  }

  abort(): void {
    this.#abort.abort();
    this.stdin.drop();
    this.output.letGo();
  }

  drop(): void {
    this.output.drop();
    this.abort();
  }

  receive(message: ToWorker, body: Uint8Array): void {
    if (message.t === "credit") this.output.grant(message.stream, message.bytes);
    else if (message.t === "input") this.stdin.add(body);
  }

  async call(operation: string): Promise<unknown> {
    throw new TypeError(`there is no operation ${operation} on ${this.#what}`);
  }
}

/** A command whose output is sent at its end, or live. */
export class ExecGuest extends CommandGuest {
  readonly done: Promise<GuestEnd>;

  constructor(place: Place, input: object, stdin: StdinBuffer, host: Host) {
    super("a command of exec", stdin, host);
    this.done = this.#run(place, input, host);
  }

  async #run(place: Place, input: object, host: Host): Promise<GuestEnd> {
    try {
      const stdin = await this.stdin.whole;
      host.began();
      const streamed = host.isLive && (input as NativeExecInput).limits?.keep !== "head+tail";
      const result = await place.exec({
        ...(input as NativeExecInput),
        ...(stdin !== undefined && { stdin }),
        lease: host.lease,
        signal: this.signal,
        ...(host.isLive && {
          onStdout: (chunk: Uint8Array) => this.output.push(1, chunk),
          onStderr: (chunk: Uint8Array) => this.output.push(2, chunk),
        }),
      });
      const value = resultShape(result);
      if (!streamed) {
        // The live pieces are not the kept output, which follows them.
        this.output.finish();
        await this.output.until(() => this.output.hasRoom(1) && this.output.hasRoom(2));
        host.keptFollows();
        this.output.push(1, result.stdout);
        this.output.push(2, result.stderr);
        const rest = await this.output.rest();
        return { value, ...this.output.reported, rest };
      }
      const rest = await this.output.rest();
      return { value, ...this.output.reported, rest };
    } catch (error) {
      return { error: errorShape(error), ...this.output.reported, rest: [] };
    }
  }
}

/** Input of a batch. */
export type BatchInput = {
  commands: readonly NativeExecInput[];
  options: object;
  /** Bytes of each command's input within the concatenated input; null: no input. */
  lengths: readonly (number | null)[];
};

/** Commands run one after the other in one sandbox. Their outputs form one stream, with the length of each. */
export class BatchGuest extends CommandGuest {
  readonly done: Promise<GuestEnd>;

  constructor(place: Place, input: BatchInput, stdin: StdinBuffer, host: Host) {
    super("a batch", stdin, host);
    this.done = this.#run(place, input, host);
  }

  async #run(place: Place, input: BatchInput, host: Host): Promise<GuestEnd> {
    const { commands, options, lengths } = input;
    try {
      const stdin = (await this.stdin.whole) ?? new Uint8Array(0);
      let at = 0;
      const inputOf = (length: number | null | undefined) => {
        if (typeof length !== "number") return undefined;
        at += length;
        return stdin.subarray(at - length, at);
      };
      if (place.execBatch === undefined) throw new TypeError("execBatch: a session has none");
      host.began();
      const results = await place.execBatch(
        commands.map((each, index) => ({
          ...each,
          stdin: inputOf(lengths[index]),
          lease: host.lease,
        })),
        { ...(options as BatchOptions), signal: this.signal },
      );
      const value = results.map((result) => this.#reported(result));
      const rest = await this.output.rest();
      return { value, ...this.output.reported, rest };
    } catch (error) {
      const results = error instanceof SandboxError ? (error.results ?? []) : [];
      const value = { results: results.map((result) => this.#reported(result)) };
      const rest = await this.output.rest();
      return { error: errorShape(error), value, ...this.output.reported, rest };
    }
  }

  #reported(result: SandboxedExecResult): object {
    const { stdout, stderr } = result;
    this.output.push(1, stdout);
    this.output.push(1, stderr);
    return { ...resultShape(result), lengths: [stdout.length, stderr.length] };
  }
}

/** A live process. Its output pauses while its caller gives no credit. */
export class SpawnGuest implements Guest {
  readonly done: Promise<GuestEnd>;
  readonly #abort = new AbortController();
  readonly #output: Output;
  readonly #host: Host;
  readonly #streams: Partial<Record<StreamNumber, Readable>> = {};
  #process: SandboxProcess | undefined;
  #hasEnded = false;
  /** Messages that arrived before the start. */
  readonly #early: [ToWorker, Uint8Array][] = [];

  constructor(place: Place, input: object, host: Host) {
    this.#host = host;
    this.#output = new Output(host.credit, host.out);
    if (host.isAborted()) this.#abort.abort();
    this.done = this.#run(place, input as NativeSpawnInput);
  }

  abort(): void {
    this.#abort.abort();
    this.#letGo();
  }

  drop(): void {
    this.#output.drop();
    this.abort();
  }

  receive(message: ToWorker, body: Uint8Array): void {
    if (message.t === "credit") this.#output.grant(message.stream, message.bytes);
    else if (this.#process === undefined) this.#early.push([message, body]);
    else if (message.t === "input") this.#write(this.#process, body);
    else if (message.t === "inputEnd") this.#process.stdin.end();
    else if (message.t === "outputClosed") this.#closed(message.stream);
  }

  async call(operation: string, args: readonly unknown[]): Promise<unknown> {
    const process = this.#process;
    if (process === undefined) throw new Error("the process has not been started");
    if (operation === "waitForPort") {
      const [port, options] = args as Parameters<SandboxProcess["waitForPort"]>;
      return process.waitForPort(port, options); // rejects when the process ends
    }
    if (operation === "resize") return process.resize(args[0] as TerminalSize);
    if (operation === "signal") return process.signal(args[0] as NodeJS.Signals);
    throw new TypeError(`there is no operation ${operation} on a process`);
  }

  async #run(place: Place, input: NativeSpawnInput): Promise<GuestEnd> {
    const { lease } = this.#host;
    try {
      const process = await place.spawn({ ...input, lease, signal: this.#abort.signal });
      this.#process = process;
      process.stdin.on("error", () => this.#host.inputClosed());
      this.#streams[1] = process.stdout;
      if (process.stderr) this.#streams[2] = process.stderr;
      this.#host.began({ hasStderr: process.stderr !== null });
      for (const [message, body] of this.#early.splice(0)) this.receive(message, body);
      const read = [this.#pump(1), this.#pump(2)];
      const result = await process.result;
      this.#hasEnded = true;
      this.#output.finish();
      this.#letGo();
      await Promise.all(read);
      const rest = await this.#output.rest();
      return { value: resultShape(result), ...this.#output.reported, rest };
    } catch (error) {
      return { error: errorShape(error), ...this.#output.reported, rest: [] };
    }
  }

  /** Discards output that the caller no longer reads, so that the command does not block on it. */
  #closed(stream: StreamNumber): void {
    this.#streams[stream]?.destroy();
    this.#output.release(stream);
  }

  /** Sends all buffered output of an aborted process, but only once it has ended: before that it could write more. */
  #letGo(): void {
    if (this.#hasEnded && this.#abort.signal.aborted) this.#output.letGo();
  }

  /** Sends one stream, and reads on when the caller has given credit. */
  async #pump(number: StreamNumber): Promise<void> {
    const stream = this.#streams[number];
    if (stream === undefined) return;
    try {
      for await (const chunk of stream) {
        this.#output.push(number, chunk as Uint8Array);
        const isTaken = () => this.#output.hasRoom(number);
        if (!isTaken()) await this.#output.until(isTaken);
      }
    } catch {
      // the stream was destroyed, since its caller does not read it
    }
  }

  #write(process: SandboxProcess, bytes: Uint8Array): void {
    process.stdin.write(bytes, (error) => {
      if (!error) this.#host.taken(bytes.length);
    });
  }
}

/** Results on the wire. The output is sent as bytes. Pure. */

/** Returns a result without its output. */
function resultShape(result: SandboxedExecResult): object {
  const { stdout: _stdout, stderr: _stderr, ...reported } = result;
  return reported;
}
