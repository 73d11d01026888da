import type { ToWorker } from "../../wire/messages.js";
import type { Guest, GuestEnd, Host } from "../guest.js";
import { Output } from "../output.js";
import type { StdinBuffer } from "../stdin-buffer.js";

/** Commands whose input is all there before they start, and whose output goes as far as its caller takes it. */
export abstract class CommandGuest implements Guest {
  abstract readonly done: Promise<GuestEnd>;
  protected readonly output: Output;
  protected readonly stdin: StdinBuffer;
  readonly #abort = new AbortController();
  readonly #what: string;

  /** @param what it is, for whoever asks for an operation on it. */
  constructor(what: string, stdin: StdinBuffer, host: Host) {
    this.#what = what;
    this.output = new Output(host.credit, host.out);
    this.stdin = stdin;
    if (host.isAborted()) this.#abort.abort();
  }

  /** Of {@link abort}. */
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
