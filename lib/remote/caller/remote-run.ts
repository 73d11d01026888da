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

/** Standard input that goes with the grant; longer one follows it. */
export const kInputWithGrant = 128 * 1024;

/** What a run is asked for with. */
export type RunRequest = {
  pool: string;
  kind: RunKind;
  policy: unknown;
  workspace: unknown;
  input: unknown;
  stdin?: Uint8Array | undefined;
  isLive: boolean;
  /** Bytes of each stream that may be on their way. */
  credit: number;
  /** Milliseconds that it may wait for a slot. */
  queueTimeoutMs: number;
  /** The name of the only worker that can run it; undefined: any of the pool. */
  onWorker?: string | undefined;
  /** The session or transaction that it is run in, on its worker. */
  inside?: RemoteRun | undefined;
};

/** Who follows a run. None of these may throw. */
export type RunListener = {
  began?(value: unknown): void;
  /** In order; `number` is 1 or 2. */
  out(number: 1 | 2, bytes: Uint8Array): void;
  /** What comes now is what is kept of the output, not what is looked at. */
  keptFollows?(): void;
  taken?(bytes: number): void;
  inputClosed?(): void;
  /** Its worker asks for the workspace, which goes there and comes back through this. */
  workspaceAsked?(port: WirePort): void;
};

/** How it ended, whatever it was. */
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

/** What is said to its worker within it. */
export type WorkerMessage = Unnumbered<RunToWorker>;
/** Sends it. */
export type SayToWorker = (
  run: RemoteRun,
  message: WorkerMessage & Numbered,
  body?: Uint8Array,
) => void;

/** One run of this caller, from the call to its one end. */
export class RemoteRun {
  readonly number: number;
  readonly request: RunRequest;
  readonly askedAt: number;
  readonly end: Promise<RunEnd>;
  /** The worker that it was granted to; undefined: it waits. */
  worker: string | undefined;
  /** How often it was granted. */
  attempt = 0;
  grantedAt = 0;
  /** The worker has spoken of it: it has the grant. */
  isConfirmed = false;
  hasBegun = false;
  isAborted = false;
  /** Somebody waits for its end. */
  isAwaited = false;
  readonly channel: Channel<WorkerMessage, RunToCaller>;
  /** When its worker was last asked what became of it. */
  probedAt = 0;
  /** When its worker last said that it is there. */
  listedAt = 0;

  /** What its workspace is moved through, once that was asked for. */
  port: WirePort | undefined;

  readonly #listener: RunListener;
  readonly #streams: Record<1 | 2, ReceivedOutput>;
  #settle: (end: RunEnd) => void = () => {};
  /** Bytes of standard input that were sent behind the grant. */
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

  /** Its worker has not started it, and won't. */
  returned(): void {
    this.worker = undefined;
  }

  /** Says something to its worker, which has begun it. */
  tell(message: WorkerMessage, body?: Uint8Array): void {
    this.channel.say(message, body, performance.now());
  }

  /** Its worker's answer; undefined when the run has ended before. */
  async call(operation: string, args: unknown[]): Promise<Answer | undefined> {
    const call = ++this.#callNumbers;
    const answered = new Promise<Answer>((resolve) => this.#calls.set(call, resolve));
    this.tell({ t: "call", call, operation, args });
    const answer = await Promise.race([answered, this.end.then(() => undefined)]);
    this.#calls.delete(call);
    return answer;
  }

  #hear(message: RunToCaller, body: Uint8Array): void {
    this.isConfirmed = true;
    switch (message.t) {
      case "began":
        this.hasBegun = true;
        this.#listener.began?.(fromPlain(message.value));
        break;
      case "out":
        this.hasBegun = true;
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

  #portTaken(n: number): void {
    this.port?.granted(n);
    if (this.port !== undefined) return;
    this.port = new WirePort({
      send: (header, body) => this.tell({ t: "port", header }, body),
      taken: (count) => this.tell({ t: "portTaken", n: count }),
    });
    this.#listener.workspaceAsked?.(this.port);
  }

  /** So many bytes more of standard input may be sent. */
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

  /** False: what it has written is not all here yet; its worker says it again until it is. */
  ended({ value, error, sent, rest, isCut }: End, body: Uint8Array): boolean {
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
    this.#settle(end);
  }

  /** A session or a transaction that has begun, and that nobody waits for. */
  get isOnlyOpen(): boolean {
    const { kind } = this.request;
    return this.hasBegun && !this.isAwaited && (kind === "session" || kind === "transaction");
  }

  /** What is known when its worker is not heard of any more. */
  get started(): "yes" | "no" | "unknown" {
    return this.worker === undefined ? "no" : this.hasBegun ? "yes" : "unknown";
  }
}

/** What has come of one stream, in order whatever came first. Pure. */
export class ReceivedOutput {
  readonly #take: (bytes: Uint8Array) => void;
  /** What came before its turn. */
  readonly #early = new Map<number, Uint8Array>();
  #length = 0;

  /** @param take is given all bytes, in order. */
  constructor(take: (bytes: Uint8Array) => void) {
    this.#take = take;
  }

  /** Bytes that are here without a gap. */
  get length(): number {
    return this.#length;
  }

  /** What comes a second time is dropped. */
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

/** What is told of a session or transaction that is over. Pure. */

export function whyOver(end: RunEnd): string {
  if (end.kind === "ended" && typeof end.value === "string") return end.value;
  if (end.kind === "lost" || end.kind === "queue-timeout") return `it was lost: ${end.reason}`;
  return "it was closed";
}

/** Why it did not begin. */
export function expectBegun(end: RunEnd, what: string, isAborted: boolean): Error {
  if (end.kind === "failed") return end.error;
  if (end.kind === "ended" && end.error && !isAborted) return errorOf(end.error);
  return new SandboxError(`${what}: ${whyOver(end)}`, {
    code: isAborted ? "ERR_SANDBOX_CLOSED" : "ERR_SANDBOX_UNAVAILABLE",
  });
}

/** Results of runs that no worker has told of. Pure. */

const kNotKnown = 125;
const kAborted = 130;

/** An end of which no result has come. */
export type LostEnd =
  | Exclude<RunEnd, { kind: "ended" } | { kind: "failed" }>
  /** Its worker could not begin with it. */
  | { kind: "setup-failed"; reason: string };

/**
 * @param argv of the command, for its record.
 * @param policyHash of what was asked for.
 * @param waitedMs from the call to its end.
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
