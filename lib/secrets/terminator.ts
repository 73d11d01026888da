/**
 * The terminator: a thread that ends TLS for the hosts of secrets and rules, one for each Node environment. It is started
 * with the first runner that needs it, and does not keep the process alive.
 */

import { Worker } from "node:worker_threads";

import { SandboxError } from "../errors.js";
import { loadAddon } from "../native.js";
import { builtFile } from "../package-root.js";
import type { AskedRequest, FromTerminator, Told, ToTerminator } from "./messages.js";

/** What the terminator asks for and tells of a run. */
export type TerminatedRun = {
  valueOf: (name: string) => Promise<{ value: string; expiresMs: number | undefined }>;
  /** undefined: requests that no rule allows are refused. */
  mayRequest?: ((request: AskedRequest) => Promise<boolean>) | undefined;
  told: (told: readonly Told[]) => void;
};

type Promised<Value> = { resolve: (value: Value) => void; reject: (error: Error) => void };

const kFile = "secrets/terminator-thread.js";

const ended = (reason: string) =>
  new SandboxError(`the thread that ends TLS for secrets and rules has ended: ${reason}`, {
    code: "ERR_SANDBOX_SETUP",
    fix: "make the runner anew",
  });

let current: Terminator | undefined;
let lastFlush = 0;

export class Terminator {
  readonly #worker: Worker;
  readonly #authorities = new Map<number, Promised<string>>();
  readonly #flushes = new Map<number, Promised<void>>();
  readonly #runs = new Map<number, TerminatedRun>();
  #fault: Error | undefined;

  /** Returns the one of this Node environment. @throws {@link SandboxError} if there can be none. */
  static current(): Terminator {
    if (current === undefined || current.#fault !== undefined) current = new Terminator();
    return current;
  }

  /** Tells the current one, if there is one, that a runner is gone. */
  static forget(runner: number): void {
    if (current !== undefined) current.#say({ kind: "forget", runner });
  }

  /** The addon's number of the channel; the same for a later terminator. */
  readonly channel: number;

  private constructor() {
    const { channel, end } = loadAddon().openTerminator();
    this.channel = channel;
    this.#worker = new Worker(builtFile(kFile), {
      workerData: { end },
      name: "native-runner secrets",
      execArgv: [],
      // It allocates little but buffers, which are freed only with what V8 knows of them.
      resourceLimits: { maxYoungGenerationSizeMb: 1 },
      env: {},
    });
    this.#worker.on("message", (message: FromTerminator) => this.#take(message));
    this.#worker.on("error", (error) => this.#end(ended(error.message)));
    this.#worker.on("exit", (code) => this.#end(ended(`it exited with ${code}`)));
    this.#worker.unref(); // last: a listener for its messages refers to it
  }

  get isGone(): boolean {
    return this.#fault !== undefined;
  }

  #end(fault: Error): void {
    this.#fault ??= fault;
    for (const waiting of [...this.#authorities.values(), ...this.#flushes.values()]) {
      waiting.reject(this.#fault);
    }
    this.#authorities.clear();
    this.#flushes.clear();
  }

  #say(message: ToTerminator): void {
    if (this.#fault === undefined) this.#worker.postMessage(message);
  }

  #take(message: FromTerminator): void {
    switch (message.kind) {
      case "authority":
        this.#authorities.get(message.runner)?.resolve(message.pem);
        this.#authorities.delete(message.runner);
        return;
      case "failed":
        this.#authorities.get(message.runner)?.reject(ended(message.reason));
        this.#authorities.delete(message.runner);
        return;
      case "told":
        this.#runs.get(message.run)?.told(message.told);
        return;
      case "flushed":
        this.#flushes.get(message.flush)?.resolve();
        this.#flushes.delete(message.flush);
        return;
      case "ask":
        void this.#answer(message.run, message.name, message.question);
        return;
      case "askRequest":
        void this.#decide(message.run, message.request, message.question);
    }
  }

  async #answer(run: number, name: string, question: number): Promise<void> {
    try {
      const asked = this.#runs.get(run)?.valueOf(name);
      if (asked === undefined) throw new Error("the run has ended");
      this.#say({ kind: "value", question, ...(await asked) });
    } catch {
      this.#say({ kind: "noValue", question });
    }
  }

  async #decide(run: number, request: AskedRequest, question: number): Promise<void> {
    const isAllowed = await this.#runs.get(run)?.mayRequest?.(request);
    this.#say({ kind: "verdict", question, isAllowed: isAllowed === true });
  }

  /** Says the message, and waits for its answer: the thread keeps the process alive meanwhile, as other work does. */
  async #waitFor<Value>(
    waiting: Map<number, Promised<Value>>,
    number: number,
    message: ToTerminator,
  ): Promise<Value> {
    if (this.#fault !== undefined) throw this.#fault;
    const promise = new Promise<Value>((resolve, reject) => {
      waiting.set(number, { resolve, reject });
    });
    this.#worker.ref();
    this.#say(message);
    try {
      return await promise;
    } finally {
      if (this.#authorities.size + this.#flushes.size === 0) this.#worker.unref();
    }
  }

  /** Makes a runner known; resolves with its authority's certificate, as PEM. */
  authorityOf(runner: number, roots: readonly string[]): Promise<string> {
    return this.#waitFor(this.#authorities, runner, { kind: "runner", runner, roots });
  }

  begin(
    message: Omit<Extract<ToTerminator, { kind: "begin" }>, "kind" | "asks">,
    run: TerminatedRun,
  ): void {
    this.#runs.set(message.run, run);
    this.#say({ kind: "begin", ...message, asks: run.mayRequest !== undefined });
  }

  /** Resolves when all of the run's requests so far were told; with `ends` no more are served. */
  async flush(run: number, ends: boolean): Promise<void> {
    lastFlush += 1;
    const flush = lastFlush;
    try {
      await this.#waitFor(this.#flushes, flush, { kind: "flush", run, flush, ends });
    } finally {
      if (ends) this.#runs.delete(run);
    }
  }
}
