import type { Outcome, SandboxedExecResult } from "../../../types/public.js";
import { SandboxError } from "../../errors.js";
import { resultWith } from "../../exec-result.js";
import { Channel, type Numbered, WirePort } from "../wire/channel.js";
import type {
  RunKind,
  RunToCaller,
  RunToWorker,
  ToCaller,
  Unnumbered,
  WireErrorShape,
} from "../wire/messages.js";
import { errorOf, fromPlain } from "../wire/plain.js";
import { timeoutOfRequest } from "./deadline.js";

/** Most bytes of standard input sent with the grant; longer input follows the grant. */
export const kInputWithGrant = 128 * 1024;

/** The request for a run. */
export type RunRequest = {
  pool: string;
  kind: RunKind;
  policy: unknown;
  workspace: unknown;
  input: unknown;
  stdin?: Uint8Array | undefined;
  isLive: boolean;
  /** Bytes of each output stream that may be in transit. */
  credit: number;
  /** Milliseconds that the run may wait for a slot. */
  queueTimeoutMs: number;
  /** Name of the only worker that can run it; undefined: any worker of the pool. */
  onWorker?: string | undefined;
  /** The session or transaction on a worker in which the run executes. */
  inside?: RemoteRun | undefined;
  /**
   * The run that it begins as: the transaction of a fork, or the session `from`. It has a slot of its own, at the same
   * worker's process or nowhere.
   */
  beside?: RemoteRun | undefined;
};

/** Callbacks that follow a run. None of them may throw. */
export type RunListener = {
  began?(value: unknown): void;
  /** Called with the output in order; `number` is 1 or 2. */
  out(number: 1 | 2, bytes: Uint8Array): void;
  /** Marks the end of the live output: the kept output follows. */
  keptFollows?(): void;
  taken?(bytes: number): void;
  inputClosed?(): void;
  /** Called when the worker asks for the workspace, which is sent and received through `port`. */
  workspaceAsked?(port: WirePort): void;
};

/** The end of a run. */
export type RunEnd =
  | { kind: "ended"; value: unknown; error?: WireErrorShape | undefined; rest: Uint8Array[] }
  | {
      kind: "lost";
      started: "yes" | "no" | "unknown";
      ended: "proved" | "unproved";
      reason: string;
    }
  | { kind: "queue-timeout"; reason: string }
  | { kind: "aborted" }
  | { kind: "failed"; error: Error };

type End = Extract<ToCaller, { t: "end" }>;
type Answer = Extract<ToCaller, { t: "answer" }>;

/** A message to the worker within a run. */
export type WorkerMessage = Unnumbered<RunToWorker>;
/** Sends a message to the worker within a run. */
export type SayToWorker = (
  run: RemoteRun,
  message: WorkerMessage & Numbered,
  body?: Uint8Array,
) => void;

/** One run of this caller, from the call to its single end. */
export class RemoteRun {
  readonly number: number;
  readonly request: RunRequest;
  readonly askedAt: number;
  readonly end: Promise<RunEnd>;
  /** How it has ended; undefined while it has not. */
  settled: RunEnd | undefined;
  /** The worker that the run was granted to; undefined while it waits. */
  worker: string | undefined;
  /** How often the run was granted. */
  attempt = 0;
  grantedAt = 0;
  /** True once its worker has mentioned the run, and so has the grant. */
  isConfirmed = false;
  hasBegun = false;
  isAborted = false;
  abortedAt = 0;
  /** Time at which it began, as far as its worker has reported that. */
  begunAt = 0;
  /** Time of the last message about it, besides beats. */
  progressAt = 0;
  /** Milliseconds that it may take once it has begun. */
  readonly timeoutMs: number;
  /** True if code waits for the end of the run. */
  isAwaited = false;
  readonly channel: Channel<WorkerMessage, RunToCaller>;
  /** Time of the last probe to its worker. */
  probedAt = 0;
  /** Time at which its worker last mentioned the run. */
  listedAt = 0;

  /** The port through which the workspace is moved, once the worker has asked for it. */
  port: WirePort | undefined;

  readonly #listener: RunListener;
  readonly #streams: Record<1 | 2, ReceivedOutput>;
  #settle: (end: RunEnd) => void = () => {};
  /** Bytes of standard input that were sent after the grant. */
  #inputSent = 0;
  readonly #calls = new Map<number, (answer: Answer) => void>();
  #callNumbers = 0;

  constructor(
    number: number,
    request: RunRequest,
    listener: RunListener,
    now: number,
    say: SayToWorker,
  ) {
    this.number = number;
    this.request = request;
    this.askedAt = now;
    this.timeoutMs = timeoutOfRequest(request);
    this.#listener = listener;
    this.#streams = {
      1: new ReceivedOutput((bytes) => listener.out(1, bytes)),
      2: new ReceivedOutput((bytes) => listener.out(2, bytes)),
    };
    this.end = new Promise((resolve) => {
      this.#settle = resolve;
    });
    this.channel = new Channel(
      (message, body) => say(this, message, body),
      (message, body) => this.#hear(message, body),
    );
  }

  granted(worker: string, now: number): void {
    this.worker = worker;
    this.attempt += 1;
    this.grantedAt = now;
    this.listedAt = now;
    this.probedAt = now;
    this.isConfirmed = false;
  }

  /** Records that its worker has not started the run, and will not. */
  returned(): void {
    this.worker = undefined;
  }

  /** Sends a message to the worker that runs it. */
  tell(message: WorkerMessage, body?: Uint8Array): void {
    this.channel.say(message, body, performance.now());
  }

  /** Resolves with the worker's answer; undefined when the run has ended, or `until` has resolved, before. */
  async call(
    operation: string,
    args: unknown[],
    until: Promise<undefined>,
  ): Promise<Answer | undefined> {
    const call = ++this.#callNumbers;
    const answered = new Promise<Answer>((resolve) => this.#calls.set(call, resolve));
    this.tell({ t: "call", call, operation, args });
    const answer = await Promise.race([answered, this.end.then(() => undefined), until]);
    this.#calls.delete(call);
    return answer;
  }

  #hear(message: RunToCaller, body: Uint8Array): void {
    this.isConfirmed = true;
    this.progressAt = performance.now();
    switch (message.t) {
      case "began":
        this.#begun();
        this.#listener.began?.(fromPlain(message.value));
        break;
      case "out":
        this.#begun();
        this.#streams[message.stream].add(message.at, body);
        break;
      case "keptFollows":
        this.#listener.keptFollows?.();
        break;
      case "taken":
        this.#taken(message.bytes);
        break;
      case "inputClosed":
        this.#listener.inputClosed?.();
        break;
      case "answer":
        this.#calls.get(message.call)?.(message);
        break;
      case "port":
        this.port?.deliver(message.header, body);
        break;
      case "portTaken":
        this.#portTaken(message.n);
        break;
    }
  }

  #begun(): void {
    if (this.hasBegun) return;
    this.hasBegun = true;
    this.begunAt = performance.now();
  }

  #portTaken(n: number): void {
    this.port?.granted(n);
    if (this.port !== undefined) return;
    this.port = new WirePort({
      send: (header, body) => this.tell({ t: "port", header }, body),
      taken: (count) => this.tell({ t: "portTaken", n: count }),
    });
    this.#listener.workspaceAsked?.(this.port);
  }

  /** Sends more standard input after the worker has taken `bytes` bytes. */
  #taken(bytes: number): void {
    const { stdin } = this.request;
    if (stdin === undefined) {
      this.#listener.taken?.(bytes);
      return;
    }
    const from = this.#inputSent;
    this.#inputSent = Math.min(stdin.length, from + bytes);
    for (let at = from; at < this.#inputSent; at += kInputWithGrant) {
      this.tell(
        { t: "input" },
        stdin.subarray(at, Math.min(at + kInputWithGrant, this.#inputSent)),
      );
    }
  }

  /**
   * Settles the run. Returns false while output is missing; the worker sends the end again until all output is here.
   */
  ended({ value, error, sent, rest, isCut }: End, body: Uint8Array): boolean {
    this.progressAt = performance.now();
    if (this.isAborted && error?.code === "ERR_WORKSPACE_CUT") {
      this.settle({ kind: "aborted" }); // its worker was waiting for the workspace
      return true;
    }
    const isWhole = this.#streams[1].length === sent[0] && this.#streams[2].length === sent[1];
    if (isWhole || error !== undefined || this.isAborted) {
      let at = 0;
      const parts = rest.map((length) => {
        at += length;
        return body.subarray(at - length, at);
      });
      this.settle({ kind: "ended", value: fromPlain(value), error, rest: parts });
      return true;
    }
    if (!isCut) return false;
    const reason = "it was not heard of for too long, and some of its output was dropped";
    this.settle({ kind: "lost", started: "yes", ended: "proved", reason });
    return true;
  }

  settle(end: RunEnd): void {
    this.settled ??= end;
    this.#settle(end);
  }

  /** True for a session or transaction that has begun, while no code waits for its end. */
  get isOnlyOpen(): boolean {
    const { kind } = this.request;
    return this.hasBegun && !this.isAwaited && (kind === "session" || kind === "transaction");
  }

  /** The start state to report when its worker is lost. */
  get started(): "yes" | "no" | "unknown" {
    return this.worker === undefined ? "no" : this.hasBegun ? "yes" : "unknown";
  }
}

/** Received output of one stream, put in order. Pure. */
export class ReceivedOutput {
  readonly #take: (bytes: Uint8Array) => void;
  /** Output that arrived before its turn. */
  readonly #early = new Map<number, Uint8Array>();
  #length = 0;

  /** @param take receives all bytes in order */
  constructor(take: (bytes: Uint8Array) => void) {
    this.#take = take;
  }

  /** Bytes received without a gap. */
  get length(): number {
    return this.#length;
  }

  /** Adds a piece at an offset; drops a piece that arrives a second time. */
  add(at: number, bytes: Uint8Array): void {
    if (at > this.#length) this.#early.set(at, bytes);
    if (at !== this.#length) return;
    this.#next(bytes);
    for (let next = this.#early.get(this.#length); next; next = this.#early.get(this.#length)) {
      this.#early.delete(this.#length);
      this.#next(next);
    }
  }

  #next(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#length += bytes.length;
    this.#take(bytes);
  }
}

/** Returns why a session or transaction has ended. Pure. */

export function whyOver(end: RunEnd): string {
  if (end.kind === "ended" && typeof end.value === "string") return end.value;
  if (end.kind === "lost" || end.kind === "queue-timeout") return `it was lost: ${end.reason}`;
  return "it was closed";
}

/** Returns the error for a session, transaction or process that did not begin. */
export function expectBegun(end: RunEnd, what: string, isAborted: boolean): Error {
  if (end.kind === "failed") return end.error;
  if (end.kind === "ended" && end.error && !isAborted) return errorOf(end.error);
  return new SandboxError(`${what}: ${whyOver(end)}`, {
    code: isAborted ? "ERR_SANDBOX_CLOSED" : "ERR_SANDBOX_UNAVAILABLE",
  });
}

/** Results of runs for which no worker has sent one. Pure. */

const kNotKnown = 125;
const kAborted = 130;

/** An end without a result. */
export type LostEnd =
  | Exclude<RunEnd, { kind: "ended" } | { kind: "failed" }>
  /** The worker could not set the sandbox up. */
  | { kind: "setup-failed"; reason: string };

/**
 * Returns the result for an end without one.
 * @param argv arguments of the command, for its audit record
 * @param policyHash hash of the requested policy
 * @param waitedMs milliseconds from the call to the end
 */
export function lostResult(
  end: LostEnd,
  argv: readonly string[],
  { policyHash, waitedMs }: { policyHash: string; waitedMs: number },
): SandboxedExecResult {
  const outcome: Outcome = { ...end };
  const usage = { userCpuMs: 0, systemCpuMs: 0, peakMemoryBytes: 0 };
  const isLost = end.kind === "lost";
  const said = Buffer.from(end.kind === "setup-failed" ? `${end.reason}\n` : "");
  return resultWith(
    {
      exitCode: end.kind === "aborted" ? kAborted : kNotKnown,
      truncatedStdout: false,
      truncatedStderr: false,
      outcome,
      stdoutBytes: 0,
      stderrBytes: said.length,
      usage,
      audits: [
        {
          kind: "native.exec",
          cmd: argv[0] ?? "",
          argv: [...argv],
          durationMs: 0,
          timedOut: false,
          signal: null,
          truncatedStdout: false,
          truncatedStderr: false,
          runtime: "remote",
          layers: [],
          policyHash,
          outcome: outcome.kind,
          usage: { ...usage },
          timing: { queueMs: waitedMs, setupMs: 0, commandMs: 0, teardownMs: 0 },
          start: "cold",
          prewarmed: false,
          kill: isLost ? end.ended : null,
        },
      ],
      denials: [],
      denialsOmitted: 0,
    },
    new Uint8Array(0),
    new Uint8Array(said),
  );
}
