import type {
  NativeExecInput,
  NativeSpawnInput,
  SandboxedExecResult,
  SandboxProcess,
  WaitForPortOptions,
} from "../../../types/public.js";
import type { NativeSession, SessionOptions, SessionShare } from "../../../types/session.js";
import { SandboxError } from "../../errors.js";
import { expectFields, type FieldsOf } from "../../fields.js";
import { deferred } from "../deferred.js";
import { toPlain } from "../wire/plain.js";
import { expectBegun, whyOver } from "./ends/why-over.js";
import { portWait, RemoteProcess } from "./live/remote-process.js";
import type { RemotePlace } from "./remote-place.js";
import type { RemoteRun } from "./remote-run.js";

const kFields: FieldsOf<SessionOptions> = {
  idleTimeoutMs: true,
  maxCommands: true,
  tmpBytes: true,
  shell: true,
};

type Opened = { layers: readonly string[]; shares: readonly SessionShare[] };

/** A session on one worker, where all of its commands run; it is never moved to another. */
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
    const { promise: began, resolve } = deferred<Opened>();
    const run = place.begin(
      "session",
      { input: toPlain({ ...options }, "options") },
      { out: () => {}, began: (value) => resolve(value as Opened) },
    );
    const first = await Promise.race([began, run.end]);
    if ("layers" in first && !run.isAborted) return new RemoteSession(place, run, first);
    throw expectBegun(await run.end, "no session could be opened", run.isAborted);
  }

  get isOpen(): boolean {
    return this.#reason === undefined;
  }

  async exec(input: NativeExecInput): Promise<SandboxedExecResult> {
    this.#expectOpen();
    return this.#place.exec(input);
  }

  async start(input: NativeSpawnInput): Promise<SandboxProcess> {
    this.#expectOpen();
    return RemoteProcess.spawn(this.#place, input);
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
