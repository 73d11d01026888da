import type {
  ForwardOptions,
  NativeSpawnInput,
  PortForward,
  RunnerExecInput,
  SandboxedExecResult,
  SandboxProcess,
  WaitForPortOptions,
} from "../../../types/public.js";
import type {
  BatchOptions,
  NativeSession,
  SessionOptions,
  SessionShare,
} from "../../../types/session.js";
import { invalidType, invalidValue, SandboxError, withResults } from "../../errors.js";
import { resultWith, withReason } from "../../exec-result.js";
import { expectFields, type FieldsOf } from "../../fields.js";
import { checkSignal, onAbort } from "../../runners/abort.js";
import { deferred } from "../deferred.js";
import { errorOf, toPlain } from "../wire/plain.js";
import { nameOfWorker } from "./dispatcher.js";
import { OutputCollector, type RemotePlace } from "./remote-place.js";
import { notForwarded, portWait, RemoteProcess } from "./remote-process.js";
import { expectBegun, type RemoteRun, whyOver } from "./remote-run.js";
import { execInputOf, type ReportedResult } from "./request-of.js";

const kFields: FieldsOf<SessionOptions> = {
  idleTimeoutMs: true,
  maxCommands: true,
  tmpBytes: true,
  shell: true,
  from: true,
};

type Opened = { layers: readonly string[]; shares: readonly SessionShare[] };

/** A session on one worker, where all of its commands run; it never moves to another worker. */
export class RemoteSession implements NativeSession {
  readonly layers: readonly string[];
  readonly shares: readonly SessionShare[];
  readonly ended: Promise<string>;
  readonly #outer: RemotePlace;
  readonly #place: RemotePlace;
  readonly #run: RemoteRun;
  #reason: string | undefined;

  private constructor(place: RemotePlace, run: RemoteRun, { layers, shares }: Opened) {
    this.layers = Object.freeze([...layers]);
    this.shares = Object.freeze([...shares]);
    this.#outer = place;
    this.#place = place.inside(run);
    this.#run = run;
    this.ended = run.end.then((end) => {
      this.#reason ??= whyOver(end);
      return this.#reason;
    });
  }

  /** @throws (rejects) as `openSession`. */
  static async open(place: RemotePlace, options: SessionOptions): Promise<RemoteSession> {
    expectFields(options, "options", kFields);
    const { from, ...own } = options;
    const its = from === undefined ? undefined : RemoteSession.#expectFrom(place, from);
    const input = { ...(toPlain(own, "options") as object), ...(its && { from: its.number }) };
    // Inside a transaction it is on that one's worker anyway.
    const where = place.isPool && its ? { onWorker: nameOfWorker(its.worker), beside: its } : {};
    const { promise: began, resolve } = deferred<Opened>();
    const run = place.begin(
      "session",
      { input, ...where },
      { out: () => {}, began: (value) => resolve(value as Opened) },
    );
    const first = await Promise.race([began, run.end]);
    if ("layers" in first && !run.isAborted) return new RemoteSession(place, run, first);
    throw expectBegun(await run.end, "no session could be opened", run.isAborted);
  }

  /**
   * Returns the run of the session whose shell state a new one begins with.
   * @throws TypeError for what is no session that this place's worker has; SandboxError for one that has ended
   */
  static #expectFrom(place: RemotePlace, from: unknown): RemoteRun & { worker: string } {
    if (!(from instanceof RemoteSession)) {
      throw invalidType("from", "a session on the same worker", from);
    }
    from.#expectOpen();
    const run = from.#run as RemoteRun & { worker: string };
    if (place.caller === from.#outer.caller && (place.worker ?? run.worker) === run.worker) {
      return run;
    }
    const expected = place.worker === undefined ? "the same runner" : `the worker ${place.worker}`;
    throw invalidValue(
      `Expected \`from\` to be a session of ${expected}, got one on the worker ${run.worker}`,
    );
  }

  get isOpen(): boolean {
    return this.#reason === undefined;
  }

  async exec(input: RunnerExecInput): Promise<SandboxedExecResult> {
    this.#expectOpen();
    return this.#place.exec(input);
  }

  async start(input: NativeSpawnInput): Promise<SandboxProcess> {
    this.#expectOpen();
    return RemoteProcess.spawn(this.#place, input);
  }

  /** @throws (rejects) always: its port would be one of the worker. */
  async forward(port: number, _options: ForwardOptions = {}): Promise<PortForward> {
    this.#expectOpen();
    throw notForwarded(port);
  }

  async waitForPort(port: number, options: WaitForPortOptions = {}): Promise<void> {
    this.#expectOpen();
    const answer = portWait(this.#place, this.#run, port, options);
    await answer.catch(async (error: { code?: unknown }) => {
      if (error.code !== "ERR_SANDBOX_CLOSED") throw error;
      throw hasEnded(await this.ended);
    });
  }

  async close(): Promise<void> {
    this.#reason ??= "it was closed";
    this.#place.caller.abort(this.#run);
    await this.#outer.ended(this.#run);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #expectOpen(): void {
    if (this.#reason !== undefined) throw hasEnded(this.#reason);
  }
}

function hasEnded(reason: string): SandboxError {
  return new SandboxError(`the session has ended: ${reason}`, {
    code: "ERR_SANDBOX_CLOSED",
    fix: "open another one",
  });
}

const kOptions: FieldsOf<BatchOptions> = {
  stopOnError: true,
  shell: true,
  tmpBytes: true,
  signal: true,
};

/** Standard input of all commands, concatenated; `lengths` has null for a command without input. */
type Inputs = { lengths: (number | null)[]; whole: Uint8Array | undefined };

type Reported = ReportedResult & { lengths: [number, number] };

function inputOf(command: RunnerExecInput | string[]) {
  const isInput = typeof command === "object" && command !== null && !Array.isArray(command);
  const { input, stdin, ...rest } = execInputOf(isInput ? command : { argv: command });
  const { signal, onStdout, onStderr } = rest;
  checkSignal(signal);
  const name = Object.entries({ signal, onStdout, onStderr }).find(([, value]) => value)?.[0];
  if (name === undefined) return { input: input as { argv: string[] }, stdin };
  throw invalidValue(`\`${name}\` can't be given to a command of a remote batch`);
}

function together(all: readonly (Uint8Array | undefined)[]): Inputs {
  const given = all.filter((each) => each !== undefined);
  return {
    lengths: all.map((each) => each?.length ?? null),
    whole: given.length === 0 ? undefined : Buffer.concat(given),
  };
}

/** Runs all commands in one sandbox of one worker: one grant, and one end with all results. */
export async function remoteBatch(
  place: RemotePlace,
  commands: readonly (RunnerExecInput | string[])[],
  given: BatchOptions,
): Promise<SandboxedExecResult[]> {
  if (!Array.isArray(commands)) throw invalidType("commands", "an array", commands);
  expectFields(given, "options", kOptions);
  const { signal, ...options } = given;
  const abort = checkSignal(signal);
  const asked = commands.map(inputOf);
  const inputs = asked.map(({ input }) => input);
  const { lengths, whole } = together(asked.map(({ stdin }) => stdin));
  const collector = new OutputCollector(place.credit, {
    taken: (stream, bytes) => place.caller.tell(run, { t: "credit", stream, bytes }),
  });
  const begun = performance.now();
  const input = { commands: inputs, options: toPlain({ ...options }, "options"), lengths };
  const run = place.begin(
    "batch",
    { input, stdin: whole },
    { out: (stream, bytes) => collector.add(stream, bytes) },
  );
  const unsubscribe = onAbort(abort, () => place.caller.abort(run));
  try {
    const end = await place.ended(run);
    const waitedMs = run.grantedAt - begun;
    if (end.kind === "failed") throw end.error;
    if (end.kind !== "ended") {
      return inputs.map(({ argv }) => withReason(place.lostResult(end, argv, waitedMs), abort));
    }
    const output = collector.whole(1, end.rest[0]);
    let at = 0;
    const next = (length: number) => {
      at += length;
      return output.slice(at - length, at);
    };
    const made = (reported: Reported) =>
      resultWith(reported, next(reported.lengths[0]), next(reported.lengths[1]));
    if (end.error !== undefined) {
      const { results = [] } = (end.value ?? {}) as { results?: Reported[] };
      throw withResults(errorOf(end.error), results.map(made));
    }
    return (end.value as Reported[]).map((reported) => withReason(made(reported), abort));
  } finally {
    unsubscribe();
  }
}
