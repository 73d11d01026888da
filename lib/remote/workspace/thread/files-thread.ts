/**
 * The host's end of the thread that works on files of workspaces, so that walks, hashing, compression and writes never
 * block the host's event loop. One exists per Node environment, started with the first call; it keeps the process alive
 * only during a call.
 */

import { MessageChannel, type MessagePort, Worker } from "node:worker_threads";

import { invalidType, SandboxError } from "../../../errors.js";
import { builtFile } from "../../../package-root.js";
import type { Bounds } from "../content/manifest.js";
import { type ExchangePort, WorkspaceError, type WorkspaceErrorCode } from "../exchange.js";
import { serveBytes, serveExchange } from "./channel.js";
import type { CallerMethods, WorkerMethods } from "./main.js";

type Rooms = { caller: CallerMethods; worker: WorkerMethods };
type MethodOf<Room extends keyof Rooms> = Exclude<keyof Rooms[Room], symbol>;
type Asked<F> = F extends (args: infer Args) => unknown ? Numbered<Args> : never;
/** Arguments in which each exchange is replaced by its number. */
type Numbered<Args> = { [Name in keyof Args]: Name extends "exchange" ? number : Args[Name] };
type Answer<F> = F extends (...args: never[]) => infer Value ? Awaited<Value> : never;

type Pending = { resolve: (value: unknown) => void; reject: (error: Error) => void };
type Answered = { id: number; value?: unknown; error?: Record<string, unknown> };

function errorOf({ name, message, code, path, fix }: Record<string, unknown>): Error {
  const text = String(message);
  if (name === "WorkspaceError") return new WorkspaceError(text, code as WorkspaceErrorCode);
  if (name === "SandboxError" || String(code).startsWith("ERR_SANDBOX_")) {
    const known = code as SandboxError["code"];
    return new SandboxError(text, { code: known, ...(typeof fix === "string" && { fix }) });
  }
  const error = name === "TypeError" ? new TypeError(text) : new Error(text);
  return Object.assign(error, code !== undefined && { code }, path !== undefined && { path });
}

/** The thread shared by all users of this environment. */
export class FilesThread {
  static #shared: FilesThread | undefined;
  readonly #worker: Worker;
  readonly #pending = new Map<number, Pending>();
  #last = 0;

  private constructor() {
    this.#worker = new Worker(builtFile("remote/workspace/thread/main.js"), {
      name: "native-runner-workspaces",
    });
    this.#worker.on("message", (answered: Answered) => this.#answer(answered));
    this.#worker.on("error", (error) => this.#die(error));
    this.#worker.on("exit", (code) => this.#die(new Error(`it ended with exit code ${code}`)));
    this.#worker.unref(); // last: a listener for its messages refers to it
  }

  /** Returns the shared thread, and starts it anew after it has died. */
  static get(): FilesThread {
    FilesThread.#shared ??= new FilesThread();
    return FilesThread.#shared;
  }

  #die(error: Error): void {
    if (FilesThread.#shared === this) FilesThread.#shared = undefined;
    for (const { reject } of this.#pending.values()) {
      reject(new Error(`the thread of workspaces has died: ${error.message}`, { cause: error }));
    }
    this.#pending.clear();
  }

  #answer({ id, value, error }: Answered): void {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    if (this.#pending.size === 0) this.#worker.unref();
    if (error) pending?.reject(errorOf(error));
    else pending?.resolve(value);
  }

  #post(call: Record<string, unknown>, channel?: MessagePort): Promise<unknown> {
    this.#last += 1;
    const id = this.#last;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      this.#worker.ref();
      this.#worker.postMessage({ id, ...call }, channel ? [channel] : []);
    });
  }

  /**
   * Calls a method on the thread.
   * @throws (rejects) the method's error, or an Error if the thread has died
   */
  async call<Room extends keyof Rooms, Method extends MethodOf<Room>>(
    room: Room,
    method: Method,
    args: Asked<Rooms[Room][Method]>,
    channel?: MessagePort,
  ): Promise<Answer<Rooms[Room][Method]>> {
    const answer = await this.#post({ room, method, args }, channel);
    return answer as Answer<Rooms[Room][Method]>;
  }

  /**
   * Opens an exchange through a port for the thread.
   * @returns the number of the exchange for calls, and a function that closes it
   */
  async openExchange(port: ExchangePort): Promise<{ exchange: number; close(): void }> {
    const { port1, port2 } = new MessageChannel();
    serveExchange(port, port1);
    const args = { channel: port2 };
    const exchange = (await this.#post(
      { room: "caller", method: "openExchange", args },
      port2,
    )) as number;
    const close = () => {
      this.#post({ room: "caller", method: "closeExchange", args: { exchange } }).catch(() => {});
    };
    return { exchange, close };
  }

  /** Returns a channel over which the thread passes bytes to `write`. */
  bytesChannel(write: (bytes: Uint8Array) => Promise<void>): MessagePort {
    const { port1, port2 } = new MessageChannel();
    serveBytes(write, port1);
    return port2;
  }
}

const kMostEntries = 2 ** 24;

/** The limits of one moved workspace, or of all of a worker's together. */
export type BoundsOptions = {
  /** Entries of one workspace, an integer from 1 to 16,777,216. Default 1,000,000. */
  maxEntries?: number | undefined;
  /** Bytes of files, an integer > 0. Default 16 GiB. */
  maxBytes?: number | undefined;
};

function integer(field: string, value: number, most: number): number {
  if (Number.isSafeInteger(value) && value >= 1 && value <= most) return value;
  throw invalidType(field, `an integer from 1 to ${most}`, value);
}

/** @throws TypeError for a value that is no integer in range */
export function boundsOf({
  maxEntries = 1_000_000,
  maxBytes = 16 * 2 ** 30,
}: BoundsOptions): Bounds {
  return {
    maxEntries: integer("maxEntries", maxEntries, kMostEntries),
    maxBytes: integer("maxBytes", maxBytes, Number.MAX_SAFE_INTEGER),
  };
}
