/** Commands that keep running after the call that started them, with their unread output. */

import type { SandboxedExecResult, SandboxProcess } from "../../types/public.js";
import { ToolError } from "./words.js";

const kMostAlive = 32;
const kMostKnown = 128;
const kMostUnread = 1024 ** 2;

/** Output since the last read. */
export type Unread = { output: Uint8Array; droppedBytes: number };

export class LiveProcess {
  readonly id: string;
  readonly #process: SandboxProcess;
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #dropped = 0;
  #ended: SandboxedExecResult | undefined;
  readonly #waiting = new Set<() => void>();

  /** @param onEnd called when all its processes have ended */
  constructor(id: string, process: SandboxProcess, onEnd: () => void) {
    this.id = id;
    this.#process = process;
    process.stdin.end(); // no tool writes to it
    process.stdout.on("data", (chunk: Uint8Array) => this.#add(chunk));
    process.stdout.on("error", () => {}); // `result` reports how it ended
    process.result
      .then((result) => {
        this.#ended = result;
      })
      .catch(() => {})
      .finally(() => {
        onEnd();
        this.#wake();
      });
  }

  /** The result; undefined while it runs. */
  get ended(): SandboxedExecResult | undefined {
    return this.#ended;
  }

  /** Takes the unread output: at most the last mebibyte. */
  take(): Unread {
    const unread = { output: Buffer.concat(this.#chunks), droppedBytes: this.#dropped };
    this.#chunks = [];
    this.#bytes = 0;
    this.#dropped = 0;
    return unread;
  }

  /** Resolves when output arrives, the process ends, the time is over, or the signal aborts. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (this.#bytes > 0 || this.#ended !== undefined || ms === 0 || signal.aborted) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", done);
        this.#waiting.delete(done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal.addEventListener("abort", done);
      this.#waiting.add(done);
    });
  }

  #wake(): void {
    for (const done of [...this.#waiting]) done();
  }

  async stop(): Promise<SandboxedExecResult> {
    return this.#process.stop();
  }

  #add(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    while (this.#bytes > kMostUnread && this.#chunks.length > 1) {
      const gone = this.#chunks.shift()?.length ?? 0;
      this.#bytes -= gone;
      this.#dropped += gone;
    }
    this.#wake();
  }
}

export class Processes {
  readonly #known = new Map<string, LiveProcess>(); // the oldest first
  #last = 0;

  /** Returns the running processes. */
  alive(): LiveProcess[] {
    return [...this.#known.values()].filter(({ ended }) => ended === undefined);
  }

  /** @throws ToolError if too many processes run */
  expectRoom(): void {
    if (this.alive().length < kMostAlive) return;
    throw new ToolError(`${kMostAlive} processes run already: stop some of them first`);
  }

  add(process: SandboxProcess, onEnd: () => void): string {
    this.#last += 1;
    const id = `p${this.#last}`;
    this.#known.set(id, new LiveProcess(id, process, onEnd));
    for (const [key, { ended }] of this.#known) {
      if (this.#known.size <= kMostKnown) break;
      if (ended !== undefined) this.#known.delete(key);
    }
    return id;
  }

  /** @throws ToolError if the process is unknown */
  find(id: string): LiveProcess {
    const found = this.#known.get(id);
    if (found !== undefined) return found;
    const known = [...this.#known.keys()].join(", ") || "none";
    throw new ToolError(
      `there is no process ${JSON.stringify(id.slice(0, 100))}; there are: ${known}`,
    );
  }

  forget(): void {
    for (const [id, { ended }] of this.#known) if (ended !== undefined) this.#known.delete(id);
  }
}
