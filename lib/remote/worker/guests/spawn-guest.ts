import type { Readable } from "node:stream";
import type { NativeSpawnInput, SandboxProcess, TerminalSize } from "../../../../types/public.js";
import { errorShape } from "../../wire/errors.js";
import type { ToWorker } from "../../wire/messages.js";
import type { Guest, GuestEnd, Host, Place } from "../guest.js";
import { Output, type StreamNumber } from "../output.js";
import { resultShape } from "./results.js";

/** A command that is spoken with. It is held up as soon as its caller takes no output any more. */
export class SpawnGuest implements Guest {
  readonly done: Promise<GuestEnd>;
  readonly #abort = new AbortController();
  readonly #output: Output;
  readonly #host: Host;
  readonly #streams: Partial<Record<StreamNumber, Readable>> = {};
  #process: SandboxProcess | undefined;
  #hasEnded = false;
  /** What came before it was started. */
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
      return process.waitForPort(port, options); // ends with the process
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
      this.#letGo();
      await Promise.all(read);
      const rest = await this.#output.rest();
      return { value: resultShape(result), ...this.#output.told, rest };
    } catch (error) {
      return { error: errorShape(error), ...this.#output.told, rest: [] };
    }
  }

  /** What waits for its reader goes, so that nobody waits for it. */
  #closed(stream: StreamNumber): void {
    this.#streams[stream]?.destroy();
    this.#output.grant(stream, Number.POSITIVE_INFINITY);
  }

  /** Not before it has ended: until then it would write on. */
  #letGo(): void {
    if (this.#hasEnded && this.#abort.signal.aborted) this.#output.letGo();
  }

  /** Reads on when the caller has room. */
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
      // it was destroyed, since nobody reads it
    }
  }

  #write(process: SandboxProcess, bytes: Uint8Array): void {
    process.stdin.write(bytes, (error) => {
      if (!error) this.#host.taken(bytes.length);
    });
  }
}
