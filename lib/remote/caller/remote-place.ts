/** The destination of commands: the pool, or a session or transaction on one worker. */

import { createHash } from "node:crypto";

import type { RunnerExecInput, SandboxedExecResult } from "../../../types/public.js";
import { invalidType } from "../../errors.js";
import { resultWith, withReason } from "../../exec-result.js";
import { checkSignal, onAbort } from "../../runners/abort.js";
import type { WirePort } from "../wire/channel.js";
import type { RunKind } from "../wire/messages.js";
import { errorOf } from "../wire/plain.js";
import type { MovedWorkspace } from "../workspace/moved-workspace.js";
import type { Caller } from "./caller.js";
import {
  expectBegun,
  kInputWithGrant,
  type LostEnd,
  lostResult,
  type RemoteRun,
  type RunEnd,
  type RunListener,
  type RunRequest,
} from "./remote-run.js";
import { execInputOf, expectSendable, type ReportedResult } from "./request-of.js";

/** Settings that all commands of a place share. */
export type PlaceOptions = {
  caller(): Caller;
  pool: string;
  policy: unknown;
  workspace: unknown;
  /** A workspace of this machine that is sent to the worker and received back. */
  moved?: MovedWorkspace | undefined;
  queueTimeoutMs: number;
  inside?: RemoteRun | undefined;
};

export class RemotePlace {
  readonly #options: PlaceOptions;
  readonly #runs = new Set<RemoteRun>();
  readonly #moving = new Map<RemoteRun, Promise<unknown>>();
  #policyHash: string | undefined;

  constructor(options: PlaceOptions) {
    this.#options = options;
  }

  get caller(): Caller {
    return this.#options.caller();
  }

  /** Returns the same place inside a session or transaction of it. */
  inside(run: RemoteRun): RemotePlace {
    return new RemotePlace({ ...this.#options, moved: undefined, inside: run });
  }

  /** True if its runs wait for a slot of the pool. */
  get isPool(): boolean {
    return this.#options.inside === undefined;
  }

  /** The only worker that has it, with the number of its process; undefined: any of the pool. */
  get worker(): string | undefined {
    return this.#options.inside?.worker;
  }

  /** Number of runs in this place that have not ended. */
  get pending(): number {
    return this.#runs.size;
  }

  /** Bytes of each output of a further run that may be in transit. */
  get credit(): number {
    return creditFor(this.caller.pending);
  }

  /**
   * Requests a run of any kind.
   * @throws RangeError that names the field that is too long to be sent
   */
  begin(
    kind: RunKind,
    asked: Pick<RunRequest, "input"> & Partial<RunRequest>,
    listener: RunListener,
  ): RemoteRun {
    const { caller, moved, ...place } = this.#options;
    const request = { ...place, kind, isLive: false, credit: this.credit, ...asked };
    const { input, policy, workspace, stdin } = request;
    expectSendable({ input, policy, workspace }, stdin === undefined ? 0 : kInputWithGrant);
    const workspaceAsked = (port: WirePort) => {
      const moving = moved?.bring(port).then((brought) => brought.take());
      // `ended` reports it. The worker was told, and ends the run; one that does not is left.
      moving?.catch(() => caller().abort(run));
      if (moving) this.#moving.set(run, moving);
    };
    const run = caller().run(request, { ...listener, workspaceAsked });
    this.#runs.add(run);
    void run.end.then(() => this.#runs.delete(run));
    return run;
  }

  /**
   * Resolves with the end of a run once its changes are in the workspace here.
   * @throws (rejects) TransactionError when the changes can't be committed, WorkspaceError when the workspace can't be
   * moved
   */
  async ended(run: RemoteRun): Promise<RunEnd> {
    const end = await run.end;
    const moving = this.#moving.get(run);
    if (moving === undefined) return end;
    this.#moving.delete(run);
    const isWhole = end.kind === "ended" && end.error === undefined;
    // A worker reports the end after it has the verdict. What has already arrived is still read.
    run.port?.cut("the run has ended");
    try {
      await moving;
    } catch (error) {
      // The end of the run explains more than an error that says that the transfer was cut.
      if (isWhole || (error as { code?: unknown }).code !== "ERR_WORKSPACE_CUT") throw error;
    }
    return end;
  }

  /** Runs one command from request to result. Rejects, and never throws synchronously. */
  async exec(given: RunnerExecInput): Promise<SandboxedExecResult> {
    const isObject = typeof given === "object" && given !== null;
    if (!isObject) throw invalidType("input", "an object", given);
    const signal = checkSignal(given.signal);
    const { input, stdin, onStdout, onStderr } = execInputOf(given);
    const argv = (input as { argv: string[] }).argv;
    if (signal?.aborted) return withReason(this.lostResult({ kind: "aborted" }, argv, 0), signal);
    const callbacks = { 1: onStdout, 2: onStderr };
    const isLive = onStdout !== undefined || onStderr !== undefined;
    let thrown: { error: unknown } | undefined;
    const { credit } = this;
    const collector = new OutputCollector(credit, {
      taken: (stream, bytes) => this.caller.tell(run, { t: "credit", stream, bytes }),
      onPiece: (stream, bytes) => {
        if (thrown !== undefined) return;
        try {
          callbacks[stream]?.(Uint8Array.from(bytes));
        } catch (error) {
          thrown = { error };
          this.caller.abort(run);
        }
      },
    });
    const begun = performance.now();
    const request = { input, stdin, isLive, credit };
    const run = this.begin("exec", request, {
      out: (stream, bytes) => collector.add(stream, bytes),
      keptFollows: () => collector.keptFollows(),
    });
    const unsubscribe = onAbort(signal, () => this.caller.abort(run));
    try {
      const end = await this.ended(run);
      if (isLive && end.kind === "ended" && !end.error) collector.showRest(end.rest);
      if (thrown !== undefined) throw thrown.error;
      const waitedMs = (run.worker === undefined ? performance.now() : run.grantedAt) - begun;
      return withReason(this.result(end, argv, collector, waitedMs), signal);
    } finally {
      unsubscribe();
    }
  }

  /**
   * Requests a run that has a value and no output, and resolves with that value and the worker that returned it.
   * @throws (rejects) what the worker has thrown
   */
  async answer(
    kind: RunKind,
    asked: Pick<RunRequest, "input"> & Partial<RunRequest>,
  ): Promise<{ value: unknown; worker: string }> {
    const run = this.begin(kind, asked, { out: () => {} });
    const end = await run.end;
    if (end.kind !== "ended" || end.error !== undefined) {
      throw expectBegun(end, "no worker has answered", run.isAborted);
    }
    return { value: end.value, worker: run.worker ?? "" };
  }

  /**
   * Returns the result of a run that has output.
   * @throws what the worker has thrown
   */
  result(
    end: RunEnd,
    argv: readonly string[],
    collector: OutputCollector,
    waitedMs: number,
  ): SandboxedExecResult {
    if (end.kind === "failed") throw end.error;
    if (end.kind !== "ended") return this.lostResult(end, argv, waitedMs);
    if (end.error?.code === "ERR_SANDBOX_SETUP") {
      const reason = end.error.message;
      return this.lostResult({ kind: "setup-failed", reason }, argv, waitedMs);
    }
    if (end.error !== undefined) throw errorOf(end.error);
    const reported = end.value as ReportedResult;
    for (const { timing } of reported.audits) timing.queueMs += waitedMs;
    return resultWith(reported, collector.whole(1, end.rest[0]), collector.whole(2, end.rest[1]));
  }

  /** Returns the result of a run for which no worker has sent one. */
  lostResult(end: LostEnd, argv: readonly string[], waitedMs: number): SandboxedExecResult {
    const text = JSON.stringify([this.#options.pool, this.#options.policy]);
    this.#policyHash ??= createHash("sha256").update(text).digest("hex");
    return lostResult(end, argv, { policyHash: this.#policyHash, waitedMs });
  }

  /** Aborts all runs, and resolves when they have ended. */
  async endRuns(): Promise<void> {
    const runs = [...this.#runs];
    for (const run of runs) this.caller.abort(run);
    await Promise.all(runs.map(({ end }) => end));
  }
}

/** Output of a run, collected as it arrives. */

type Parts = { pieces: Uint8Array[]; bytes: number };

/** Receivers of collected output. */
export type Watchers = {
  /** Called after `bytes` more bytes were received. */
  taken(stream: 1 | 2, bytes: number): void;
  /** Called with each piece. */
  onPiece?(stream: 1 | 2, bytes: Uint8Array): void;
};

/** Collects the output of a run. Returns credit to the worker in halves of the window. */
export class OutputCollector {
  readonly #parts: Record<1 | 2, Parts> = {
    1: { pieces: [], bytes: 0 },
    2: { pieces: [], bytes: 0 },
  };
  readonly #lostResult = { 1: 0, 2: 0 };
  /** Bytes of each stream that were only shown, once the kept output follows. */
  #shown: Record<1 | 2, number> | undefined;
  readonly #watchers: Watchers;
  readonly #window: number;

  constructor(window: number, watchers: Watchers) {
    this.#window = window;
    this.#watchers = watchers;
  }

  add(stream: 1 | 2, bytes: Uint8Array): void {
    this.#keep(stream, bytes);
    if (this.#shown === undefined) this.#watchers.onPiece?.(stream, bytes);
    this.#lostResult[stream] += bytes.length;
    if (this.#lostResult[stream] * 2 < this.#window) return;
    this.#watchers.taken(stream, this.#lostResult[stream]);
    this.#lostResult[stream] = 0;
  }

  /** Marks the end of the live output: bytes added from now on are the kept output. */
  keptFollows(): void {
    this.#shown = { 1: this.#parts[1].bytes, 2: this.#parts[2].bytes };
  }

  /** Passes the output that came with the end to the watcher. */
  showRest(rest: readonly Uint8Array[]): void {
    if (this.#shown !== undefined) return;
    for (const stream of [1, 2] as const) {
      const bytes = rest[stream - 1];
      if (bytes?.length) this.#watchers.onPiece?.(stream, bytes);
    }
  }

  #keep(stream: 1 | 2, bytes: Uint8Array): void {
    this.#parts[stream].pieces.push(bytes);
    this.#parts[stream].bytes += bytes.length;
  }

  /**
   * Returns the kept output of one stream, with the output that came with the end, as a plain array that is not shared.
   */
  whole(stream: 1 | 2, rest: Uint8Array | undefined): Uint8Array {
    const skipped = this.#shown?.[stream] ?? 0;
    const { pieces, bytes } = this.#parts[stream];
    const whole = new Uint8Array(bytes + (rest?.length ?? 0) - skipped);
    let at = -skipped;
    for (const piece of rest === undefined ? pieces : [...pieces, rest]) {
      if (at + piece.length > 0) whole.set(at < 0 ? piece.subarray(-at) : piece, Math.max(0, at));
      at += piece.length;
    }
    return whole;
  }
}

/**
 * Limits of output in transit. A broker closes a connection with more than 64 MiB pending (its `max_pending`), so the
 * sum over all runs stays below that for any number of runs. A single run gets enough to fill the round trip. Pure.
 */

const kMost = 1024 ** 2;
const kLeast = 256 * 1024;
/** Up to twelve runs get the maximum each; 64 runs get less than 40 MiB together. */
const kShared = 12 * 1024 ** 2;

/**
 * Returns the credit of a new run in bytes.
 * @param others number of runs that are not settled
 */
function creditFor(others: number): number {
  return Math.max(kLeast, Math.min(kMost, Math.floor(kShared / (others + 1))));
}
