import type { NativeAddon, SessionHandle } from "../../types/addon.js";
import type {
  ForwardOptions,
  NativeSpawnInput,
  PortForward,
  RunnerExecInput,
  SandboxedExecResult,
  SandboxProcess,
  WaitForPortOptions,
} from "../../types/public.js";
import type {
  BatchOptions,
  NativeSession,
  SessionOptions,
  SessionShare,
} from "../../types/session.js";
import { fromNative, invalidType, invalidValue, SandboxError, withResults } from "../errors.js";
import { copyOptions, expectFields, type FieldsOf } from "../fields.js";
import type { RunMeter } from "../metrics/run-meter.js";
import type { RunnerSecrets } from "../secrets/runner-secrets.js";
import { checkSignal, onAbort } from "./abort.js";
import { openForward } from "./forward.js";
import { waitForPort } from "./sandbox-process.js";
import { type HomeKeeper, type Ready, Supervised } from "./supervised.js";

const kShared: readonly SessionShare[] = Object.freeze([
  "workspace",
  "tmp",
  "network",
  "ipc",
  "process-list",
  "terminals",
  "limits",
]);
const kSharedWithSignals: readonly SessionShare[] = Object.freeze([...kShared, "signals"]);

function hasEnded(reason: string): SandboxError {
  return new SandboxError(`the session has ended: ${reason}`, {
    code: "ERR_SANDBOX_CLOSED",
    fix: "open another one",
  });
}

/** One session; created by {@link open}. A session that is no longer referenced is collected, and ended. */
export class Session implements NativeSession {
  readonly layers: readonly string[];
  readonly shares: readonly SessionShare[];
  readonly ended: Promise<string>;
  readonly #supervised: Supervised<SessionHandle>;
  /** Separate from the session, which `ended` would otherwise keep alive. */
  readonly #end: { reason: string | undefined } = { reason: undefined };

  private constructor(
    supervised: Supervised<SessionHandle>,
    layers: readonly string[],
    ended: Promise<string>,
  ) {
    this.#supervised = supervised;
    this.layers = Object.freeze([...layers]);
    this.shares = layers.includes("command-separation") ? kShared : kSharedWithSignals;
    this.ended = ended;
    const end = this.#end;
    void ended.then((reason) => {
      end.reason = reason;
    });
  }

  /**
   * @param from the session whose shell state it begins with.
   * @throws (rejects) {@link SandboxError} if no session is possible, or `from` has ended.
   */
  static async open(supervised: Supervised<SessionHandle>, from?: Session): Promise<Session> {
    try {
      const number = from === undefined ? undefined : from.#supervised.handle.number();
      const { opened, ended } = supervised.furnished().open(number);
      return new Session(supervised, await opened, ended);
    } catch (error) {
      throw fromNative(error);
    }
  }

  get isOpen(): boolean {
    return this.#end.reason === undefined;
  }

  async exec(input: RunnerExecInput): Promise<SandboxedExecResult> {
    this.#expectOpen();
    return this.#supervised.exec(input);
  }

  async start(input: NativeSpawnInput): Promise<SandboxProcess> {
    this.#expectOpen();
    return this.#supervised.spawn(input);
  }

  async forward(port: number, options: ForwardOptions = {}): Promise<PortForward> {
    this.#expectOpen();
    const { handle } = this.#supervised;
    return openForward(handle, 0, port, options, async () => hasEnded(await this.ended));
  }

  async waitForPort(port: number, options: WaitForPortOptions = {}): Promise<void> {
    this.#expectOpen();
    const { handle } = this.#supervised;
    await waitForPort(handle, 0, port, options, async () => hasEnded(await this.ended));
  }

  /** Throws the error that `exec` would reject with for this input before starting anything. */
  async check(input: RunnerExecInput): Promise<void> {
    this.#expectOpen();
    await this.#supervised.explain(input);
    checkSignal(input.signal);
  }

  async close(): Promise<void> {
    this.#end.reason ??= "it was closed";
    await this.#supervised.close();
    await this.ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #expectOpen(): void {
    const { reason } = this.#end;
    if (reason !== undefined) throw hasEnded(reason);
  }
}

/** The sessions of one runner, which end with it. */

/** Creates the native session from a runner's options, which it holds, and the session's own options. */
export type MakeSession = (
  addon: NativeAddon,
  options: Omit<SessionOptions, "from">,
  poolNumber: number,
) => SessionHandle;

const kBatchOptions: FieldsOf<BatchOptions> = {
  stopOnError: true,
  shell: true,
  tmpBytes: true,
  signal: true,
};

/** True if the result ends a batch that stops on errors. */
const hasFailed = (result: SandboxedExecResult) =>
  result.outcome.kind !== "exited" || result.exitCode !== 0;

/** The abort reason of batch commands that do not run after an error. */
const kStopped = () => new Error("a command of the batch before this one did not exit with 0");

/** Combines two signals into one. `stop` releases them. */
function either(signals: readonly (AbortSignal | undefined)[]) {
  const controller = new AbortController();
  const stops = signals.map((signal) => onAbort(signal, () => controller.abort(signal?.reason)));
  return { signal: controller.signal, stop: () => stops.forEach((stop) => void stop()) };
}

const runnerClosed = () =>
  new SandboxError("the runner was closed", { code: "ERR_SANDBOX_CLOSED" });

/** A session and its native handle, which may be collected later: in Bun much later. */
type Open = { session: WeakRef<Session>; handle: WeakRef<SessionHandle>; ended: Promise<string> };

/** The transaction whose sessions these are; those of its `parent`, of the same `runner`, may be `from` too. */
export type SessionsBranch = { id: string; parent: string | undefined; runner: object };

export class Sessions {
  /** Those that may be `from`, and whose they are. */
  static readonly #shells = new WeakMap<object, Sessions>();
  readonly #make: (addon: NativeAddon, options: Omit<SessionOptions, "from">) => SessionHandle;
  #branch: SessionsBranch | undefined;
  readonly #meter: RunMeter;
  readonly #opening = new Map<Supervised<SessionHandle>, Promise<Session>>();
  /** Does not keep sessions that their users have dropped. */
  readonly #open = new Set<Open>();
  readonly #ready: Ready;
  readonly #home: () => HomeKeeper | undefined;
  readonly #secrets: () => RunnerSecrets | undefined;
  #isClosed = false;

  /** @param meter the runner's, like the others. */
  constructor(
    make: (addon: NativeAddon, options: Omit<SessionOptions, "from">) => SessionHandle,
    meter: RunMeter,
    ready: Ready,
    home: () => HomeKeeper | undefined,
    secrets: () => RunnerSecrets | undefined,
  ) {
    this.#make = make;
    this.#meter = meter;
    this.#ready = ready;
    this.#home = home;
    this.#secrets = secrets;
  }

  async open(options: SessionOptions = {}): Promise<NativeSession> {
    return this.#openOne(options);
  }

  /** Says which transaction's sessions these are. */
  belongTo(branch: SessionsBranch): void {
    this.#branch = branch;
  }

  /**
   * Returns the session whose shell state a new one begins with.
   * @throws TypeError unless it is one with a shell state, of this runner or of the transaction's parent
   */
  #expectFrom({ from, shell }: SessionOptions): Session | undefined {
    if (from === undefined) return undefined;
    if (!(from instanceof Session)) throw invalidType("from", "a session of this runner", from);
    if (shell === false) throw invalidValue("`from` needs `shell`, which is false");
    const owner = Sessions.#shells.get(from);
    if (owner === undefined) throw invalidValue("Expected `from` to be a session with `shell`");
    if (owner !== this && !this.#isForkOf(owner.#branch)) {
      throw invalidValue(
        "Expected `from` to be a session of the same runner, or of the transaction that this one was forked from",
      );
    }
    return from;
  }

  #isForkOf(other: SessionsBranch | undefined): boolean {
    const own = this.#branch;
    return own !== undefined && own.parent === other?.id && own.runner === other?.runner;
  }

  async #openOne(options: SessionOptions): Promise<Session> {
    if (this.#isClosed) throw runnerClosed();
    const { from: given, ...own } = copyOptions(options);
    const from = this.#expectFrom({ ...own, from: given });
    if (from !== undefined) own.shell = true;
    const ofRunner = this.#secrets();
    const waitsFor = (hasWaited: boolean) =>
      this.#ready(hasWaited) ?? this.#home()?.ready?.(hasWaited) ?? ofRunner?.ready();
    for (let waits = waitsFor(false); waits; waits = waitsFor(true)) await waits;
    if (this.#isClosed) throw runnerClosed();
    const supervised = new Supervised((addon) => this.#make(addon, own), this.#meter);
    supervised.ready = this.#ready;
    const view = this.#home()?.current(); // for as long as the session lives
    if (view !== undefined) supervised.home = { current: () => view };
    const secrets = ofRunner?.open();
    supervised.secrets = ofRunner;
    supervised.ofSession = secrets;
    const opening = Session.open(supervised, from);
    opening.catch(() => secrets?.close());
    this.#opening.set(supervised, opening);
    try {
      const session = await opening;
      this.#meter.sessionOpened(supervised.policyHash());
      if (this.#isClosed) {
        await session.close(); // it opened while the runner was being closed
        throw runnerClosed();
      }
      if (own.shell === true) Sessions.#shells.set(session, this);
      const handle = new WeakRef(supervised.handle);
      const entry: Open = { session: new WeakRef(session), handle, ended: session.ended };
      const open = this.#open;
      open.add(entry);
      void entry.ended.then(() => {
        open.delete(entry);
        secrets?.close(); // neither keeps the session alive
      });
      return session;
    } finally {
      this.#opening.delete(supervised);
    }
  }

  /** Ends all sessions; no others can be opened afterwards. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.endAll();
  }

  /** True if no session is open or opening. */
  isEmpty(): boolean {
    return this.#open.size === 0 && this.#opening.size === 0;
  }

  /** Ends the current sessions. */
  async endAll(): Promise<void> {
    const closing = [...this.#opening].flatMap(([supervised, opening]) => [
      supervised.close(),
      opening.then(({ ended }) => ended),
    ]);
    for (const { session, handle } of this.#open) {
      void (session.deref() ?? handle.deref())?.close();
    }
    await Promise.allSettled([...closing, ...[...this.#open].map(({ ended }) => ended)]);
  }

  /** See `BubblewrapNativeRunner.execBatch`. */
  async execBatch(
    commands: readonly (RunnerExecInput | string[])[],
    options: BatchOptions = {},
  ): Promise<SandboxedExecResult[]> {
    if (!Array.isArray(commands)) throw invalidType("commands", "an array", commands);
    expectFields(options, "options", kBatchOptions);
    const { stopOnError = false, signal, ...rest } = copyOptions(options);
    if (typeof stopOnError !== "boolean") {
      throw invalidType("stopOnError", "a boolean", stopOnError);
    }
    const abort = checkSignal(signal);
    const inputs = commands.map((command) =>
      Array.isArray(command) ? { argv: [...command] } : { ...command },
    );
    await using session = await this.#openOne(rest);
    for (const input of inputs) await session.check(input); // misuse: nothing has run yet
    const results: SandboxedExecResult[] = [];
    let over: AbortSignal | undefined; // prevents the remaining commands from starting
    for (const input of inputs) {
      const own = either([input.signal, abort]);
      const request: RunnerExecInput = { ...input, signal: over ?? own.signal };
      const result = await session
        .exec(request)
        .catch((error: unknown) => {
          throw withResults(error, results);
        })
        .finally(own.stop);
      results.push(result);
      if (abort?.aborted) over ??= abort;
      else if (stopOnError && hasFailed(result)) over ??= AbortSignal.abort(kStopped());
    }
    return results;
  }
}
