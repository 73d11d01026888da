/**
 * Shared by all runners: the native handle of one runner (or the reason why it has none), and the path of a
 * call through it. Owned by its runner; lives on the JavaScript thread of its Node environment.
 */

import { createHash } from "node:crypto";
import { types } from "node:util";
import { isMainThread } from "node:worker_threads";

import type {
  NativeAddon,
  NativeContext,
  NativeHomeView,
  NativeRequest,
  NativeRun,
  NativeSpawnRequest,
  NativeTrust,
  RunnerHandle,
  StreamRelay,
} from "../../types/addon.js";
import type { RunnerMetrics } from "../../types/metrics.js";
import type {
  BubblewrapExplanation,
  HttpRequestRecord,
  NativeSpawnInput,
  PoolState,
  RunnerExecInput,
  SandboxedExecResult,
  SandboxProcess,
} from "../../types/public.js";
import { realPathIfAnswering } from "../answering-path.js";
import { adviceLists } from "../denials/advice-lists.js";
import { fromNative, invalidValue, SandboxError } from "../errors.js";
import { withReason } from "../exec-result.js";
import { definedOnly, expectObject, unknownField } from "../fields.js";
import { withOptionGuess } from "../guesses.js";
import { RunMeter } from "../metrics/run-meter.js";
import { loadAddon } from "../native.js";
import type { RunnerSecrets, SecretsOfRun } from "../secrets/runner-secrets.js";
import { Callbacks, checkSignal, onAbort, untilAborted } from "./abort.js";
import { leaseHandle } from "./lease.js";
import { LiveProcess } from "./sandbox-process.js";

function loadOrFailure(): { addon: NativeAddon } | { failure: unknown } {
  try {
    return { addon: loadAddon() };
  } catch (failure) {
    return { failure };
  }
}

/**
 * Precondition for starting a call; undefined: none. `hasWaited`: the caller has already waited for an
 * earlier result of this function, and the precondition may have changed meanwhile. `isRun`, by default true: it starts
 * a command or a session; false: it is a call of `files`.
 */
export type Ready = (hasWaited?: boolean, isRun?: boolean) => Promise<void> | undefined;

/** Knows what sandboxes show of the user's home and tools: the same object as long as that is the same. */
export type HomeKeeper = {
  current(): NativeHomeView;
  /** Prepares what `current` needs; undefined: nothing to wait for. Never rejects. */
  ready?(hasWaited: boolean): Promise<void> | undefined;
  /** No sandbox is made any more. */
  release?(): Promise<void>;
};

/** The addon reports an invalid value. */
const isExplained = ({ explain }: { explain?: unknown }) =>
  explain === true || explain === "lookups";

const kNoPool: PoolState = { standing: 0, taken: 0, missed: 0, discarded: 0 };

/** A native handle, with the policy's hash, abort and streaming around it. */
export class Supervised<Handle extends RunnerHandle = RunnerHandle> {
  readonly #make: (addon: NativeAddon) => Handle;
  #state: { handle: Handle } | { failure: unknown };
  /** Counts of the pools of earlier handles. */
  #earlier = kNoPool;
  /** Called before each call that starts something. */
  ready: Ready = () => undefined;
  /** Asked before each of them; undefined: sandboxes show neither home nor tools. */
  home: HomeKeeper | undefined;
  #shown: NativeHomeView | undefined;
  /** Of its network; undefined: it has neither secrets nor rules for requests. */
  secrets: RunnerSecrets | undefined;
  #trusted: NativeTrust | undefined;
  /** A session's, for all of its commands. */
  ofSession: SecretsOfRun | undefined;
  #policyHash: string | undefined;
  readonly #runs = new Map<number, Promise<unknown>>();
  #closed: Promise<void> | undefined;
  /** Counts the runs; a session shares its runner's meter. */
  readonly meter: RunMeter;
  readonly #isSession: boolean;

  /** The user's name for it in messages. */
  readonly #name: string;

  /** @throws any error of the addon for an invalid option; a missing addon is reported on first use. */
  constructor(make: (addon: NativeAddon) => Handle, meter?: RunMeter, name = "runner") {
    this.#make = make;
    this.#name = name;
    this.meter = meter ?? new RunMeter();
    this.#isSession = meter !== undefined;
    const loaded = loadOrFailure();
    if ("failure" in loaded) {
      this.#state = loaded;
      return;
    }
    this.#state = this.#begin(loaded.addon);
  }

  #begin(addon: NativeAddon): { handle: Handle } {
    try {
      return { handle: this.#make(addon) };
    } catch (error) {
      if (!this.#isSession && error instanceof TypeError) {
        error.message = withOptionGuess(error.message);
      }
      throw fromNative(error);
    }
  }

  /** See the addon's; 0 if the addon is missing. */
  poolNumber(): number {
    return "failure" in this.#state ? 0 : this.#state.handle.poolNumber();
  }

  /** Undefined: a call begins at once. */
  #waits(hasWaited = false, signal?: unknown): Promise<void> | undefined {
    return (
      this.ready(hasWaited) ??
      untilAborted(this.home?.ready?.(hasWaited), signal) ??
      this.secrets?.ready()
    );
  }

  /** Performs one call completely; only rejects, never throws. */
  async exec(input: RunnerExecInput): Promise<SandboxedExecResult> {
    this.meter.called();
    try {
      const { signal }: { signal?: unknown } = Object(input);
      for (let waits = this.#waits(false, signal); waits; waits = this.#waits(true, signal)) {
        await waits;
      }
      return await this.#run(input, signal);
    } catch (error) {
      throw fromNative(error);
    }
  }

  /** Starts a live process, and resolves once its command has started; only rejects, never throws. */
  async spawn(input: NativeSpawnInput): Promise<SandboxProcess> {
    this.meter.called();
    try {
      const { signal: given }: { signal?: unknown } = Object(input);
      for (let waits = this.#waits(false, given); waits; waits = this.#waits(true, given)) {
        await waits;
      }
      const handle = this.furnished();
      const context = this.#context();
      expectObject(input, "input");
      const signal = checkSignal(given);
      const request = spawnRequestOf(input);
      if (isExplained(request)) context.advice = adviceLists(realPathIfAnswering);
      // If reported after the call, it would be too late for a command that starts at once.
      if (signal?.aborted) context.isAborted = true;
      const live = this.#withSecrets(
        handle,
        request,
        context,
        (settled) =>
          new LiveProcess(handle, request, context, async (run) =>
            withReason(await this.meter.follow(settled(run), request, context.policyHash), signal),
          ),
      );
      const unsubscribe = onAbort(signal, () => handle.abort(live.id));
      const settled = live.result.finally(() => {
        this.#runs.delete(live.id);
        unsubscribe();
      });
      this.#runs.set(live.id, settled);
      settled.catch(() => {}); // the process reports it by its `result`
      await live.started;
      return live;
    } catch (error) {
      throw fromNative(error);
    }
  }

  /** Ends running commands and blocks until their end is proved, two seconds at most: for exit handlers. */
  endNow(): void {
    if ("failure" in this.#state) return;
    const { handle } = this.#state;
    for (const id of this.#runs.keys()) handle.abort(id);
    for (const id of this.#runs.keys()) handle.abortAndWait(id);
  }

  /** Returns what `exec` would do. */
  async explain(input: RunnerExecInput): Promise<BubblewrapExplanation> {
    try {
      for (let waits = this.#waits(); waits; waits = this.#waits(true)) await waits;
      const handle = this.furnished();
      const context = this.#context();
      const isObject = typeof input === "object" && input !== null;
      const request = isObject ? requestOf(input, new Callbacks()) : input;
      const secrets = isObject ? this.#secretsOfRun() : undefined;
      if (!this.#isSession) secrets?.close(); // only its variables are needed
      if (secrets !== undefined) request.env = withPlaceholders(request.env, secrets.env);
      const plan = handle.explain(request, context);
      const { outcome, audits } = await plan.done;
      if (outcome.kind === "setup-failed") {
        throw new SandboxError(outcome.reason, { code: "ERR_SANDBOX_SETUP", fix: outcome.fix });
      }
      const [audit] = audits;
      if (audit === undefined) throw new Error("native-runner: a plan without an audit");
      const { cmd, argv } = audit; // without a wrapper, argv begins with the command itself
      return {
        cmd,
        args: argv[0] === cmd ? argv.slice(1) : argv,
        layers: audit.layers,
        environment: plan.environment.map((variable) => variable.slice(0, variable.indexOf("="))),
        policyHash: context.policyHash,
      };
    } catch (error) {
      throw fromNative(error);
    }
  }

  /** Fills the pool; resolves with the number of prewarmed sandboxes then ready. */
  async warm(): Promise<number> {
    try {
      for (let waits = this.#waits(); waits; waits = this.#waits(true)) await waits;
      return await this.furnished().warm();
    } catch (error) {
      throw fromNative(error);
    } finally {
      this.#tellOfPool();
    }
  }

  /** Returns the pool's current state and counts. */
  pool(): PoolState {
    if ("failure" in this.#state) return kNoPool;
    const { standing, taken, missed, discarded } = this.#state.handle.pool();
    const earlier = this.#earlier;
    return {
      standing,
      taken: earlier.taken + taken,
      missed: earlier.missed + missed,
      discarded: earlier.discarded + discarded,
    };
  }

  /** Returns the metrics of the runs so far. */
  metrics(): RunnerMetrics {
    return this.meter.snapshot(this.pool());
  }

  /** True if no command runs; prewarmed sandboxes may exist. */
  isIdle(): boolean {
    return this.meter.pending === 0;
  }

  /** Like {@link close}, but new calls may start once it has resolved; until then `ready` delays them. */
  async endRuns(): Promise<void> {
    if (this.#closed) return this.#closed;
    await this.#close();
    if ("failure" in this.#state || this.#closed) return;
    this.#earlier = { ...this.pool(), standing: 0 };
    this.#state = this.#begin(loadAddon());
    this.#shown = undefined;
    this.#trusted = undefined;
  }

  /** Aborts all runs, ends the pool, and resolves when no process remains; no later run starts. */
  close(): Promise<void> {
    this.#closed ??= this.#close().finally(async () => {
      if (!this.#isSession) await this.home?.release?.();
    });
    return this.#closed;
  }

  async #close(): Promise<void> {
    if ("failure" in this.#state) return;
    const { handle } = this.#state;
    for (const id of this.#runs.keys()) handle.abort(id);
    await Promise.allSettled([...this.#runs.values(), handle.close()]);
    this.#tellOfPool();
  }

  #tellOfPool(): void {
    if (!this.#isSession) this.meter.poolChanged(() => this.pool());
  }

  /** The native handle. @throws if it does not exist or was closed. */
  get handle(): Handle {
    if (this.#closed) {
      throw new SandboxError(`the ${this.#name} was closed`, { code: "ERR_SANDBOX_CLOSED" });
    }
    if ("failure" in this.#state) throw this.#state.failure;
    return this.#state.handle;
  }

  /** The handle, which has been told what to show of home and tools. @throws like {@link handle}. */
  furnished(): Handle {
    const { handle } = this;
    const view = this.home?.current();
    if (view !== undefined && view !== this.#shown) {
      handle.showHome(view);
      this.#shown = view;
      this.#policyHash = undefined;
    }
    const trust = this.secrets?.trust();
    if (trust !== undefined && trust !== this.#trusted) {
      handle.trust(trust);
      this.#trusted = trust;
    }
    return handle;
  }

  /** SHA-256 (hex) of the policy's canonical text. @throws like {@link handle}. */
  policyHash(): string {
    this.#policyHash ??= createHash("sha256").update(this.handle.policyText()).digest("hex");
    return this.#policyHash;
  }

  #context(): NativeContext {
    const policyHash = this.policyHash();
    const onConnection = this.meter.onConnection(policyHash);
    const reported = onConnection && { onConnection };
    return { policyHash, ...hostEnvironment(), ...reported };
  }

  /** Returns what a command has in the place of secrets; a session's commands share it. */
  #secretsOfRun(): SecretsOfRun | undefined {
    return this.#isSession ? this.ofSession : this.secrets?.open();
  }

  /**
   * Calls `start`, whose run has placeholders in the place of secrets; what `start` gets adds to a run's result what is
   * known of its requests.
   */
  #withSecrets<Started>(
    handle: Handle,
    request: { argv: readonly string[]; env?: Record<string, string> | undefined },
    context: NativeContext,
    start: (settled: (run: NativeRun) => NativeRun) => Started,
  ): Started {
    const secrets = this.#secretsOfRun();
    if (secrets === undefined) return start((run) => run);
    context.terminatorRun = secrets.run;
    request.env = withPlaceholders(request.env, secrets.env);
    const tell = this.meter.onRequest(context.policyHash);
    try {
      return start(({ id, done }) => {
        const hooks = {
          argv: request.argv,
          end: () => handle.abort(id),
          told: (record: HttpRequestRecord) => tell?.(id, record),
        };
        return { id, done: secrets.enter(hooks, !this.#isSession).settle(done) };
      });
    } catch (error) {
      if (!this.#isSession) secrets.close();
      throw error;
    }
  }

  async #run(input: RunnerExecInput, given: unknown): Promise<SandboxedExecResult> {
    const handle = this.furnished();
    const context = this.#context();
    // Any value that is not an object goes to the addon unchanged, which reports it.
    if (typeof input !== "object" || input === null) return handle.exec(input, context).done;

    const signal = checkSignal(given);
    const callbacks = new Callbacks();
    if (signal?.aborted) context.isAborted = true;
    const request = requestOf(input, callbacks);
    if (isExplained(request)) context.advice = adviceLists(realPathIfAnswering);
    const run = this.#withSecrets(handle, request, context, (settled) =>
      settled(handle.exec(request, context)),
    );
    this.#runs.set(run.id, run.done);
    const abort = () => handle.abort(run.id);
    callbacks.abort = abort;
    const unsubscribe = onAbort(signal, abort);
    try {
      const result = await this.meter.follow(run, request, context.policyHash);
      callbacks.rethrow();
      return withReason(result, signal);
    } finally {
      this.#runs.delete(run.id);
      unsubscribe();
      this.#tellOfPool();
    }
  }
}

/** Builds the addon's request from a call's input: each field is read once. */

/**
 * Adds all other fields of the input to the request, so that the addon, which has the field list, refuses
 * them.
 */
function withUnknown<Request extends object>(request: Request, input: object): Request {
  for (const name of Object.keys(input)) {
    if (name === "signal" || Object.hasOwn(request, name)) continue;
    Object.defineProperty(request, name, {
      value: (input as Record<string, unknown>)[name],
      enumerable: true,
    });
  }
  return request;
}

/** Adds variables to those of a call, which may be any value; they win, so that no value gets in. */
function withPlaceholders(
  env: Record<string, string> | undefined,
  placeholders: SecretsOfRun["env"],
): Record<string, string> | undefined {
  const given: unknown = env;
  const isObject = typeof given === "object" && given !== null && !Array.isArray(given);
  return given === undefined || isObject ? { ...env, ...placeholders } : env;
}

/** Builds the request of `exec`, with callbacks that can't throw into the addon. */
function requestOf(input: RunnerExecInput, callbacks: Callbacks): NativeRequest {
  const request = {
    argv: input.argv,
    cwd: input.cwd,
    env: definedOnly(input.env),
    stdin: input.stdin,
    stderr: input.stderr,
    limits: input.limits,
    lease: leaseHandle(input.lease),
    explain: input.explain,
    onStdout: callbacks.wrap(input.onStdout, "onStdout"),
    onStderr: callbacks.wrap(input.onStderr, "onStderr"),
  };
  return withUnknown(request, input);
}

/**
 * Fields of exec that a live process has in another form; if accepted silently, they would have no effect.
 */
const kNotForSpawn: readonly [string, string][] = [
  ["stdin", "write to the process' stdin"],
  ["onStdout", "read the process' stdout"],
  ["onStderr", "read the process' stderr"],
];
const kNoLimitOfSpawn: readonly string[] = ["maxStdoutBytes", "maxStderrBytes", "keep"];
const kSpawnFields: readonly string[] = [
  "argv",
  "cwd",
  "env",
  "limits",
  "lease",
  "explain",
  "pty",
  "stderr",
  "signal",
];

/** The key under which this package's own callers of `spawn` give a {@link StreamRelay}. */
export const kRelay = Symbol("relay");
type Relayed = { [kRelay]?: StreamRelay };

/** Builds the request of `spawn`. @throws TypeError for fields that only exec has. */
function spawnRequestOf(input: NativeSpawnInput): NativeSpawnRequest {
  const given = input as Record<string, unknown>;
  for (const [field, instead] of kNotForSpawn) {
    if (given[field] !== undefined) {
      throw invalidValue(`Expected \`${field}\` to be left out with spawn: ${instead}`);
    }
  }
  // The addon would take these fields for lib's own.
  for (const field of ["onEvent", "relay"]) {
    if (given[field] !== undefined) throw unknownField(field, "input", kSpawnFields);
  }
  const { argv, cwd, limits, explain, pty, stderr } = input;
  const env = definedOnly(input.env);
  const limitsGiven = Object(limits) as Record<string, unknown>;
  for (const field of kNoLimitOfSpawn) {
    if (limitsGiven[field] !== undefined) {
      const why = "nothing is kept of the output";
      throw invalidValue(`Expected \`limits.${field}\` to be left out with spawn: ${why}`);
    }
  }
  const lease = leaseHandle(input.lease);
  const relay = (input as Relayed)[kRelay];
  return withUnknown({ argv, cwd, env, limits, lease, explain, pty, stderr, relay }, input);
}

/** Returns the host's variables that the addon can't see itself. Pure except for reading the process. */

/**
 * Only Node's own process.env refuses a property that is not enumerable (ERR_INVALID_OBJECT_DEFINE_PROPERTY).
 * Any other object that a host or a test runner substituted accepts it; the property is then removed again.
 */
function isNodesOwn(env: NodeJS.ProcessEnv): boolean {
  if (types.isProxy(env)) return false;
  const name = "OPENAGENTIC_NATIVE_RUNNER_PROBE";
  const property = { value: "", configurable: true, enumerable: false, writable: true };
  try {
    Object.defineProperty(env, name, property);
  } catch (error) {
    return (error as { code?: unknown }).code === "ERR_INVALID_OBJECT_DEFINE_PROPERTY";
  }
  delete env[name];
  return false;
}

/**
 * The environment that is environ(7), which the addon reads: process.env in Node's main thread. A worker has
 * its own copy, and Bun has a copy everywhere: changes to it do not reach environ.
 */
const kEnviron =
  isMainThread && !("bun" in process.versions) && isNodesOwn(process.env) ? process.env : undefined;

/** @returns the current process.env if it is not environ; its values as child_process would pass them. */
function hostEnvironment(): Pick<NativeContext, "environment"> {
  const { env } = process;
  if (env === kEnviron) return {};
  const variables = Object.entries(env).filter(([, value]) => value !== undefined);
  return { environment: Object.fromEntries(variables.map(([name, value]) => [name, `${value}`])) };
}
