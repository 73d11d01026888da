/**
 * The contract between lib/ and native/addon: what native_runner.node exports. Only lib/native.ts
 * loads it. All checks of values happen behind it; it throws TypeError and RangeError with Node's
 * codes, and errors whose `code` is a {@link SandboxErrorCode}, with `fix` where something helps.
 */

import type { WorkspaceFilesHandle, WorkspaceFilesOptions } from "./addon-files.js";
import type { LeaseHandle, NativeRequest, NativeSpawnRequest } from "./addon-request.js";
import type { NativeListedTransaction, TransactionHandle } from "./addon-transaction.js";
import type { LeaseOptions } from "./lease.js";
import type { ConnectionEvent } from "./metrics.js";
import type { BubblewrapProcessSandboxOptions, ProcessSandboxCommand } from "./process-sandbox.js";
import type {
  BubblewrapArgvOptions,
  BubblewrapCommand,
  BubblewrapNativeRunnerOptions,
  Denial,
  EnvironmentPolicy,
  FirejailNativeRunnerOptions,
  Grant,
  LandlockNativeRunnerOptions,
  LocalNativeRunnerOptions,
  NetworkByDomain,
  NetworkConnection,
  NetworkMode,
  NetworkVia,
  Outcome,
  PoolState,
  SandboxedExecResult,
  SandboxStart,
  ShellStateReport,
  TerminalSize,
  WaitForPortOptions,
} from "./public.js";
import type { KillProof } from "./run-timing.js";
import type { SessionOptions } from "./session.js";

export type { LeaseHandle, NativeRequest, NativeSpawnRequest } from "./addon-request.js";

/**
 * What a live process tells besides its output. "started": the command is started now. One of the
 * others answers each `write` and `endInput`: the kernel has the bytes, or nobody reads them any more.
 */
export type LiveEvent = "started" | "input-taken" | "input-closed";

/** How a wait for a port ended. "gone": the process or session that was to listen has ended. */
export type PortAnswer =
  | "listening"
  | "timed-out"
  | "stopped"
  | "gone"
  | "no-sockets"
  | "unreadable";

/** A wait for a port; `id` is for `stopWait`. */
export type NativePortWait = { id: number; done: Promise<PortAnswer> };

/** Where the news of a live process go. They must not throw. */
export type LiveCallbacks = {
  onStdout: (chunk: Uint8Array) => void;
  onStderr: (chunk: Uint8Array) => void;
  onEvent: (event: LiveEvent) => void;
};

/** What of the host's no grant of a denial is to open. */
export type AdviceLists = {
  /** Home directories of this user, as real paths. */
  homes: readonly string[];
  /** Absolute paths that hold keys, passwords or tokens. */
  secrets: readonly string[];
  /** Names of what the host runs by itself, wherever it lies. */
  protectedNames: readonly string[];
};

/** A denial as the addon tells it: how the command line says its grant is lib's. */
export type NativeDenial = Omit<Denial, "grant"> & { grant?: Omit<Grant, "cli"> };

/** What only JavaScript knows of a run. */
export type NativeContext = {
  /** Goes into the audit as it is. */
  policyHash: string;
  /** Told of each connection as it opens, is refused, or ends; must not throw. Absent: nobody listens. */
  onConnection?: (run: number, event: ConnectionEvent, connection: NetworkConnection) => void;
  /** The call's signal was aborted before it came: nothing is started. */
  isAborted?: boolean;
  /** With `explain`: what no grant is to open. */
  advice?: AdviceLists;
  /** The host's variables, where process.env is not environ (a worker thread, Bun); else absent, and environ is read. */
  environment?: Record<string, string>;
};

/**
 * What the addon reports of a run, made into the result that `exec` gives. The arrays may come again
 * with the next run: they are copied, never changed. The audit's argv is `options`, then `command`.
 */
export type MakeResult = (
  exitCode: number,
  outcome: Outcome,
  stdout: Uint8Array,
  stderr: Uint8Array,
  truncatedStdout: boolean,
  truncatedStderr: boolean,
  stdoutBytes: number,
  stderrBytes: number,
  userCpuMs: number,
  systemCpuMs: number,
  peakMemoryBytes: number,
  cmd: string,
  options: readonly string[],
  command: readonly string[],
  cwd: string | undefined,
  durationMs: number,
  signal: string | null,
  runtime: string,
  layers: readonly string[],
  policyHash: string,
  queueMs: number,
  setupMs: number,
  commandMs: number,
  teardownMs: number,
  start: SandboxStart,
  coldReason: string | undefined,
  kill: KillProof | null,
  shellState: ShellStateReport | undefined,
  connections: NetworkConnection[] | undefined,
  connectionsOmitted: number,
  denials: NativeDenial[] | undefined,
  denialsOmitted: number,
) => SandboxedExecResult;

/** A run that was accepted. */
export type NativeRun = {
  /** For `abort`; unique in its Node environment. */
  id: number;
  /** Settles on the JavaScript thread, after the last callback. */
  done: Promise<SandboxedExecResult>;
};

/** A run that is only planned: its result has the audit it would have, and "exited" or "setup-failed". */
export type NativePlan = NativeRun & {
  /** "NAME=value" of every variable that the command would get. */
  environment: string[];
};

/** A native runner: options that were checked, and a lane. */
export interface RunnerHandle {
  /** The policy's canonical text; constant for a handle. */
  policyText(): string;
  /** Starts or queues a run. Throws on misuse. */
  exec(input: NativeRequest, context: NativeContext): NativeRun;
  /** Decides all that `exec` would, and starts nothing. Throws on misuse. */
  explain(input: NativeRequest, context: NativeContext): NativePlan;
  /** Starts a live process, in no lane. Throws on misuse. The calls below are for those alone. */
  spawn(input: NativeSpawnRequest & LiveCallbacks, context: NativeContext): NativeRun;
  /** Sends input; answered by an event, and until then not to be called again. Copies `bytes`. */
  write(id: number, bytes: Uint8Array): void;
  /** Ends the input; answered as `write` is. */
  endInput(id: number): void;
  /** Says that `bytes` of an output were taken, so that as many more may come. */
  grant(id: number, stream: "stdout" | "stderr", bytes: number): void;
  /** Nobody reads an output any more. */
  closeOutput(id: number, stream: "stdout" | "stderr"): void;
  /** Sends a signal, by number, to the command's process group. */
  signal(id: number, signal: number): void;
  /** Sets the size of the terminal. Throws on a wrong size. */
  resize(id: number, size: TerminalSize): void;
  /**
   * Waits until something listens on a port in the sandbox of a live process, or of the session when
   * `id` is 0. Throws on misuse.
   */
  waitForPort(
    id: number,
    port: number,
    options: Omit<WaitForPortOptions, "signal">,
  ): NativePortWait;
  /** Ends a wait; one that has ended is ignored. */
  stopWait(id: number): void;
  /** Ends a run, also a queued one; an id that has settled is ignored. */
  abort(id: number): void;
  /** Makes what is missing in the runner's pool; resolves with how many sandboxes stand then. */
  warm(): Promise<number>;
  /** By which the runner's sessions find its template; 0: it has none. */
  poolNumber(): number;
  /** Ends all in the pool, for good; resolves when that is proved. */
  close(): Promise<number>;
  /** What the pool has and has done. */
  pool(): PoolState;
  /** Aborts a run and blocks until its end is proved, two seconds at most. For exit handlers. */
  abortAndWait(id: number): void;
}

/** A native session: a runner's handle whose commands run in one sandbox. */
export interface SessionHandle extends RunnerHandle {
  /**
   * Once. `opened`: the layers in force for its commands. `ended`: why it has, as soon as nothing of
   * it is left; undefined if it never opened.
   */
  open(): { opened: Promise<string[]>; ended: Promise<string> };
}

/** Options of a process sandbox that were checked. */
export interface ProcessSandboxHandle {
  /** The wrapped command line. Throws on misuse. */
  wrap(command: ProcessSandboxCommand): BubblewrapCommand;
}

/** A question of a sandbox's network: who asks whom. The answer goes to `answerNetworkQuestion`. */
export type NativeNetworkQuestion = {
  host: string;
  port: number;
  via: NetworkVia;
  command?: string[];
};

/**
 * Called with each question, and without one when its answer is not wanted any more. Must not throw.
 * `id` is unique in its Node environment.
 */
export type OnNetworkQuestion = (id: number, question?: NativeNetworkQuestion) => void;

/** A network as the addon takes it: without presets, and with an `onRequest` of lib's. */
export type NativeNetwork =
  | NetworkMode
  | (Pick<NetworkByDomain, "deny" | "allowPrivate"> & {
      allow: readonly string[];
      onRequest?: OnNetworkQuestion | undefined;
    });

/** Options of the addon's Bubblewrap classes. */
export type NativeBubblewrapOptions = Omit<
  BubblewrapNativeRunnerOptions,
  "network" | "transaction"
> & { network?: NativeNetwork | undefined };

/** What a project runner is made with; `lib/project` makes it of its options. */
export type ProjectRunnerOptions = {
  bwrapPath?: string | undefined;
  /** Real paths, none inside another: what is writable. */
  folders: readonly string[];
  /** Real paths in the folders; commands start in the first. */
  projects: readonly string[];
  /** Absolute paths of which nothing can be read. */
  secrets: readonly string[];
  /** Relative to each project: neither changed nor made. */
  readOnly: readonly string[];
  network: NativeNetwork;
  /** Show the host's /proc read-only in place of a private one. */
  hostProc?: boolean | undefined;
  /** Forbid further user namespaces, where bwrap can. Default true. */
  disableUserns?: boolean | undefined;
  envPolicy?: EnvironmentPolicy | undefined;
};

/** The module. */
export interface NativeAddon {
  /** Once per Node environment, before the first handle is made. */
  configure(options: { launcherPath: string; makeResult: MakeResult }): void;
  buildBubblewrapArgv(options: BubblewrapArgvOptions): BubblewrapCommand;
  BubblewrapProcessSandbox: new (options: BubblewrapProcessSandboxOptions) => ProcessSandboxHandle;
  /** With a transaction that is open, all of its runs are in that. */
  BubblewrapNativeRunner: new (
    options: NativeBubblewrapOptions,
    transaction?: TransactionHandle,
  ) => RunnerHandle;
  ProjectRunner: new (
    options: ProjectRunnerOptions,
    transaction?: TransactionHandle,
  ) => RunnerHandle;
  LandlockNativeRunner: new (
    options: Omit<LandlockNativeRunnerOptions, "transaction">,
    transaction?: TransactionHandle,
  ) => RunnerHandle;
  FirejailNativeRunner: new (options: FirejailNativeRunnerOptions) => RunnerHandle;
  LocalNativeRunner: new (
    options: Omit<LocalNativeRunnerOptions, "transaction">,
    transaction?: TransactionHandle,
  ) => RunnerHandle;
  BubblewrapSession: new (
    options: NativeBubblewrapOptions,
    session: SessionOptions,
    transaction?: TransactionHandle,
    /** Of the runner whose session it is: it may be cloned from that one's template. */
    poolNumber?: number,
  ) => SessionHandle;
  Transaction: new () => TransactionHandle;
  /** Throws on misuse. */
  Lease: new (
    options: LeaseOptions,
  ) => LeaseHandle;
  /** Those on disk, the oldest first; on another thread, and nothing is changed. Throws on misuse. */
  listTransactions(options: { directory: string }): Promise<NativeListedTransaction[]>;
  LandlockSession: new (
    options: Omit<LandlockNativeRunnerOptions, "transaction">,
    session: SessionOptions,
    transaction?: TransactionHandle,
  ) => SessionHandle;
  /** With a transaction that is open, the files as its commands see them. */
  WorkspaceFiles: new (
    options: WorkspaceFilesOptions,
    transaction?: TransactionHandle,
  ) => WorkspaceFilesHandle;
  /**
   * Answers a question that an {@link OnNetworkQuestion} was called with; "none" is a denial. One that is
   * gone is ignored.
   */
  answerNetworkQuestion(question: number, answer: "allow" | "deny" | "none"): void;
  /** The kernel's Landlock ABI; 0 where it has none or it is not enabled. */
  landlockAbi(): number;
  /**
   * Locks an open file for this descriptor alone, without waiting, until it is closed or the process ends
   * (flock(2)). False: it is locked by another process, or by another descriptor. Throws as Node's fs does.
   */
  lockFile(descriptor: number): boolean;
  /**
   * What tells a state of an entry from its others, of an open file, or of what is at a path (no link is
   * followed): the six numbers that {@link WorkspaceSurvey} has. Not every engine's node:fs tells a file's
   * times to the nanosecond. Throws as Node's fs does.
   */
  entryState(place: number | string): Uint8Array;
  /** The path of a program on the host's own PATH, or on the given one; null when there is none. */
  findProgram(name: string, searchPath?: string): string | null;
}
