/**
 * The contract between lib/ and native/addon: the exports of native_runner.node. Only lib/native.ts loads it.
 * The addon checks all values; it throws TypeError and RangeError with Node's codes, and errors whose `code`
 * is a {@link SandboxErrorCode}, with a `fix` if one is known.
 */

import type { WorkspaceFilesHandle, WorkspaceFilesOptions } from "./addon-files.js";
import type { LeaseHandle, NativeRequest, NativeSpawnRequest } from "./addon-request.js";
import type {
  NativeListedTransaction,
  NativeSpaceReport,
  TransactionHandle,
} from "./addon-transaction.js";
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
  ForwardOptions,
  ForwardRecord,
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
  SandboxNamespaces,
  SandboxStart,
  ShellStateReport,
  TerminalSize,
  WaitForPortOptions,
} from "./public.js";
import type { KillProof } from "./run-timing.js";
import type { SessionOptions } from "./session.js";

export type {
  LeaseHandle,
  NativeRequest,
  NativeSpawnRequest,
  StreamRelay,
} from "./addon-request.js";

/**
 * An event of a live process, besides its output. "started": the command is now running. "input-taken" or
 * "input-closed" answers each `write` and `endInput`: the kernel has the bytes, or nothing reads the input
 * any more.
 */
export type LiveEvent = "started" | "input-taken" | "input-closed";

/** Result of a wait for a port. "gone": the process or session that was to listen has ended. */
export type PortAnswer =
  | "listening"
  | "timed-out"
  | "stopped"
  | "gone"
  | "no-sockets"
  | "unreadable";

/** A wait for a port; pass `id` to `stopWait`. */
export type NativePortWait = { id: number; done: Promise<PortAnswer> };

/** What came of `forward`; "gone" also answers `closeForward`. `errno` says why it is "failed". */
export type ForwardAnswer = {
  state:
    | "open"
    | "gone"
    | "no-sockets"
    | "own-port"
    | "loop"
    | "too-many"
    | "port-taken"
    | "failed";
  number: number;
  hostPort: number;
  errno: number;
};

/** Callbacks for the output and events of a live process. They must not throw. */
export type LiveCallbacks = {
  onStdout: (chunk: Uint8Array) => void;
  onStderr: (chunk: Uint8Array) => void;
  onEvent: (event: LiveEvent) => void;
};

/** Paths of the host that no suggested grant may open. */
export type AdviceLists = {
  /** Home directories of this user, as real paths. */
  homes: readonly string[];
  /** Absolute paths that hold keys, passwords or tokens. */
  secrets: readonly string[];
  /** Names of files that the host runs on its own, in any directory. */
  protectedNames: readonly string[];
};

/** A denial as the addon reports it; lib adds the command-line form of its grant. */
export type NativeDenial = Omit<Denial, "grant"> & { grant?: Omit<Grant, "cli"> };

/** The states of what some paths led to when it was made. */
export interface PathStampsHandle {
  /**
   * False if what one of them leads to was replaced or has changed, a directory also with its entries, or does not
   * answer within 200 ms.
   */
  areSame(): boolean;
}

/** What a directory of PATH holds, as far as its programs need other paths. */
export type NativeToolDirectory = {
  links: {
    /** The link's own path and those that it leads to, step by step; the last is no link, or there is nothing. */
    steps: string[];
    /** The interpreter of the last one, if that is a script of a Python environment. */
    interpreter?: string;
  }[];
  /** The absolute interpreters of its scripts, each once. */
  interpreters: string[];
};

/** What the next sandboxes of a runner show of the user's home and of the host's tools. */
export type NativeHomeView = {
  /** The home inside; absent: none. */
  path?: string;
  /** The home on the host; absent: each sandbox has a tmpfs of its own. */
  directory?: string;
  /** A directory of the host in which each run's or session's home is made; then there is no `path`. */
  homes?: string;
  /** A further path inside that leads to the home. */
  link?: string;
  /** Text of ~/.gitconfig in a home of the sandbox's own. */
  gitConfig?: string;
  /** Shown read-only, in this order, after the home. */
  shown?: { source: string; target: string }[];
  /** The same, where links of the system lead: no part of the policy's text. */
  followed?: { source: string; target: string }[];
  /** Package caches of the host, shown copy-on-write after all of these, without the hidden names in them. */
  caches?: { name: string; source: string; target: string; hidden: string[] }[];
  /** A directory of the host for what commands write over the caches; absent: each sandbox has that in memory. */
  keptCaches?: string;
  /** Directories of the host's PATH that are not shown, and why no mount may show them; "": one may. For denials. */
  hidden?: { path: string; why: string }[];
  /** Variables with other values than the host's, if the host's pass. */
  replaced?: Record<string, string>;
  /** Names of variables that do not pass. */
  dropped?: string[];
  /** Variables that are set where none of the name passes. */
  added?: Record<string, string>;
  /** Where the image of the runner's `root` is unpacked. */
  root?: string;
  /** Why what was asked for can't be had, and what would help. */
  failure?: string;
  fix?: string;
};

/** Facts about a run that only JavaScript has. */
export type NativeContext = {
  /** Copied into the audit record unchanged. */
  policyHash: string;
  /** Called for each connection as it opens, is refused, or ends; must not throw. Absent: no listener. */
  onConnection?: (run: number, event: ConnectionEvent, connection: NetworkConnection) => void;
  /** The terminator's number of the run: its connections are handed over with it. Absent: it has none. */
  terminatorRun?: number;
  /** The call's signal was already aborted: no command is started. */
  isAborted?: boolean;
  /** With `explain`: paths that no suggested grant may open. */
  advice?: AdviceLists;
  /**
   * The host's variables, set if process.env is not environ (a worker thread, Bun); otherwise environ is
   * read.
   */
  environment?: Record<string, string>;
};

/**
 * The addon's report of a run. The arrays may be reused for the next run: copy them, and never change them.
 * The audit record's argv is `options` followed by `command`.
 */
export interface NativeReport {
  exitCode: number;
  outcome: Outcome;
  stdout: Uint8Array;
  stderr: Uint8Array;
  truncatedStdout: boolean;
  truncatedStderr: boolean;
  stdoutBytes: number;
  stderrBytes: number;
  userCpuMs: number;
  systemCpuMs: number;
  peakMemoryBytes: number;
  cmd: string;
  options: readonly string[];
  command: readonly string[];
  cwd: string | undefined;
  durationMs: number;
  /** When all its processes were gone, in milliseconds of the Unix epoch. */
  endedMs: number;
  signal: string | null;
  runtime: string;
  layers: readonly string[];
  policyHash: string;
  queueMs: number;
  setupMs: number;
  commandMs: number;
  teardownMs: number;
  start: SandboxStart;
  coldReason: string | undefined;
  namespaces: SandboxNamespaces | undefined;
  kill: KillProof | null;
  shellState: ShellStateReport | undefined;
  connections: NetworkConnection[] | undefined;
  connectionsOmitted: number;
  forwards: ForwardRecord[] | undefined;
  denials: NativeDenial[] | undefined;
  denialsOmitted: number;
}

/** Builds the result of `exec` from the values of a NativeReport, in the order of `reportFields`. */
export type MakeResult = (...values: unknown[]) => SandboxedExecResult;

/** A run that was accepted. */
export type NativeRun = {
  /** Pass to `abort`; unique in its Node environment. */
  id: number;
  /** Settles on the JavaScript thread, after the last callback. */
  done: Promise<SandboxedExecResult>;
};

/** A run that is only planned: its result has the audit record of the run, and "exited" or "setup-failed". */
export type NativePlan = NativeRun & {
  /** "NAME=value" of every variable that the command would get. */
  environment: string[];
};

/** A native runner: checked options and a lane. */
export interface RunnerHandle {
  /** The policy's canonical text; constant for a handle. */
  policyText(): string;
  /** Tells what the next sandboxes show of home and tools. Without effect if the policy has neither. */
  showHome(view: NativeHomeView): void;
  /** Tells the files that sandboxes need where TLS ends on the host. Without effect if it ends nowhere. */
  trust(trust: NativeTrust): void;
  /** Starts or queues a run. Throws on misuse. */
  exec(input: NativeRequest, context: NativeContext): NativeRun;
  /** Makes all decisions of `exec` without starting anything. Throws on misuse. */
  explain(input: NativeRequest, context: NativeContext): NativePlan;
  /**
   * Starts a live process, outside of any lane. Throws on misuse. The calls below apply only to live
   * processes.
   */
  spawn(input: NativeSpawnRequest & LiveCallbacks, context: NativeContext): NativeRun;
  /** Sends input; answered by an event. Must not be called again before that. Copies `bytes`. */
  write(id: number, bytes: Uint8Array): void;
  /** Ends the input; answered like `write`. */
  endInput(id: number): void;
  /** Reports that `bytes` of an output were consumed, so that as many more may be sent. */
  grant(id: number, stream: "stdout" | "stderr", bytes: number): void;
  /** Reports that an output is no longer read. */
  closeOutput(id: number, stream: "stdout" | "stderr"): void;
  /** Sends a signal, by number, to the command's process group. */
  signal(id: number, signal: number): void;
  /** Sets the size of the terminal. Throws on an invalid size. */
  resize(id: number, size: TerminalSize): void;
  /**
   * Waits until a process listens on a port, in the sandbox of a live process or, if `id` is 0, of the
   * session. Throws on misuse.
   */
  waitForPort(
    id: number,
    port: number,
    options: Omit<WaitForPortOptions, "signal">,
  ): NativePortWait;
  /** Ends a wait; an ended wait is ignored. */
  stopWait(id: number): void;
  /** Makes a port of the host lead to one of a live process or, if `id` is 0, of the session. Throws on misuse. */
  forward(id: number, port: number, options: ForwardOptions): Promise<ForwardAnswer>;
  /** Closes a forward by its number; an ended one is ignored. Resolves when its port is free. */
  closeForward(id: number, number: number): Promise<ForwardAnswer>;
  /** Ends a run, including a queued one; the id of a settled run is ignored. */
  abort(id: number): void;
  /** Fills the runner's pool; resolves with the number of prewarmed sandboxes then ready. */
  warm(): Promise<number>;
  /** Identifies the runner's template for its sessions; 0: the runner has no template. */
  poolNumber(): number;
  /** Ends all sandboxes of the pool permanently; resolves when their end is proved. */
  close(): Promise<number>;
  /** Current state and counts of the pool. */
  pool(): PoolState;
  /** Aborts a run and blocks until its end is proved, at most two seconds. For exit handlers. */
  abortAndWait(id: number): void;
}

/** A native session: a runner handle whose commands run in one sandbox. */
export interface SessionHandle extends RunnerHandle {
  /**
   * Call once. `opened`: the layers in force for the session's commands. `ended`: why the session ended, once
   * all its processes are gone; undefined if it never opened. `from`: the `number()` of the session whose shell
   * state it begins with; `opened` rejects if that session has ended.
   */
  open(from?: number): { opened: Promise<string[]>; ended: Promise<string> };
  /** Identifies it for `open` of another one of this environment. */
  number(): number;
}

/** Checked options of a process sandbox. */
export interface ProcessSandboxHandle {
  /** Returns the wrapped command line. Throws on misuse. */
  wrap(command: ProcessSandboxCommand): BubblewrapCommand;
}

/** A request from a sandbox's network that needs a decision; answer it with `answerNetworkQuestion`. */
export type NativeNetworkQuestion = {
  host: string;
  port: number;
  via: NetworkVia;
  command?: string[];
};

/**
 * Called with each question, and without one if its answer is no longer needed. Must not throw. `id` is
 * unique in its Node environment.
 */
export type OnNetworkQuestion = (id: number, question?: NativeNetworkQuestion) => void;

/** A network as the addon takes it: presets are expanded, and lib supplies its own `onRequest`. */
export type NativeNetwork =
  | NetworkMode
  | (Pick<NetworkByDomain, "deny" | "allowPrivate"> & {
      allow: readonly string[];
      /** As text; the addon reads it. */
      hostPorts?: readonly string[] | undefined;
      onRequest?: OnNetworkQuestion | undefined;
      termination?: NativeTermination | undefined;
    });

/** The hosts whose TLS ends on this host, in lib's terminator. */
export type NativeTermination = {
  /** Hosts with a port, as in `allow`. */
  hosts: readonly string[];
  /** Those that are refused, since nothing looks at requests there. */
  plain: readonly string[];
  /** What the terminator does for them, a line each: part of the policy's text. */
  texts: readonly string[];
  /** See `openTerminator`. */
  channel: number;
  /** The runner's number for the terminator, unique in its Node environment, from 1 on. */
  number: number;
};

/** Files by which a sandbox's programs trust the authority whose certificates the terminator shows. */
export type NativeTrust = {
  files: readonly {
    /** Absolute. */
    path: string;
    text: string | Uint8Array;
    /** It has to be there; otherwise only in the place of a file of the host's. */
    isOwn?: boolean | undefined;
  }[];
};

/** Options of the addon's Bubblewrap classes. */
export type NativeBubblewrapOptions = Omit<
  BubblewrapNativeRunnerOptions,
  "network" | "transaction"
> & { network?: NativeNetwork | undefined };

/** Options of a project runner, which `lib/project` derives from its own. */
export type ProjectRunnerOptions = {
  bwrapPath?: string | undefined;
  /** Real paths that are writable; none is inside another. */
  folders: readonly string[];
  /** Real paths inside the folders; commands start in the first. */
  projects: readonly string[];
  /** Absolute paths whose contents can't be read. */
  secrets: readonly string[];
  /** Paths relative to each project that can be neither changed nor created. */
  readOnly: readonly string[];
  network: NativeNetwork;
  /** Mount the host's /proc read-only instead of a private one. */
  hostProc?: boolean | undefined;
  /** Forbid further user namespaces, if bwrap supports it. Default true. */
  disableUserns?: boolean | undefined;
  /** Real path of a home that is shown copy-on-write; a command's changes go with it. Default: read-only. */
  home?: string | undefined;
  envPolicy?: EnvironmentPolicy | undefined;
};

/** The exports of the addon. */
export interface NativeAddon {
  /** Call once per Node environment, before the first handle is created. */
  configure(options: { launcherPath: string; makeResult: MakeResult }): void;
  /** The names of NativeReport's fields, in the order in which `makeResult` gets their values. */
  reportFields: readonly (keyof NativeReport)[];
  buildBubblewrapArgv(options: BubblewrapArgvOptions): BubblewrapCommand;
  BubblewrapProcessSandbox: new (options: BubblewrapProcessSandboxOptions) => ProcessSandboxHandle;
  /** With an open transaction, all its runs are in that transaction. */
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
    session: Omit<SessionOptions, "from">,
    transaction?: TransactionHandle,
    /** The pool number of the session's runner: the session may be cloned from that runner's template. */
    poolNumber?: number,
  ) => SessionHandle;
  Transaction: new () => TransactionHandle;
  /** Throws on misuse. */
  Lease: new (
    options: LeaseOptions,
  ) => LeaseHandle;
  /**
   * Lists the transactions on disk, oldest first; on another thread, without changing anything. Throws on
   * misuse.
   */
  listTransactions(options: { directory: string }): Promise<NativeListedTransaction[]>;
  /** Measures the transactions on disk, of one workspace (its real path) or all, on another thread. Throws on misuse. */
  measureTransactions(options: {
    directory: string;
    workspace?: string;
  }): Promise<NativeSpaceReport>;
  LandlockSession: new (
    options: Omit<LandlockNativeRunnerOptions, "transaction">,
    session: Omit<SessionOptions, "from">,
    transaction?: TransactionHandle,
  ) => SessionHandle;
  PathStamps: new (paths: readonly string[]) => PathStampsHandle;
  /** With an open transaction, the files as the transaction's commands see them. */
  WorkspaceFiles: new (
    options: WorkspaceFilesOptions,
    transaction?: TransactionHandle,
  ) => WorkspaceFilesHandle;
  /**
   * Answers a question that was passed to an {@link OnNetworkQuestion}; "none" is a denial. A question that
   * has ended is ignored.
   */
  answerNetworkQuestion(question: number, answer: "allow" | "deny" | "none"): void;
  /**
   * Makes the channel on which the terminator of this Node environment gets connections; the number of our end
   * stays the same for a later terminator. `end`: the terminator's end, a descriptor that the caller owns; it reads
   * lines "CLIENT HOST RUN PORT VIA NAME", and owns the two descriptors of each.
   */
  openTerminator(): { channel: number; end: number };
  /** Returns the kernel's Landlock ABI; 0 if Landlock is missing or not enabled. */
  landlockAbi(): number;
  /** Returns the path of the cgroup v2 that runs can have their own groups in; undefined without one. */
  controlGroup(): string | undefined;
  /**
   * Looks at an absolute path on a thread of its own. Throws ERR_SANDBOX_SETUP, naming the path, if its file
   * system has not answered in time; at once while an earlier look at it still waits. Looks at nothing if all
   * mounted file systems are this machine's own.
   * @param patienceMs default 2,000.
   */
  expectAnswer(path: string, patienceMs?: number): void;
  /**
   * Returns the mount points of file systems of other machines, of FUSE and the like that do not answer within 200 ms
   * in all. Looks at nothing if there are none of them.
   */
  silentMounts(): string[];
  /**
   * Looks at a path, or at the link that it is. Fills `status` with mode, uid, gid, device, inode, the milliseconds of
   * the last change, and size. False: there is nothing, or it can't be reached. Blocks as its file system does.
   */
  lookAt(path: string, follows: boolean, status: Float64Array): boolean;
  /**
   * Reads directories, all in one look, and of those with `readsScripts` the scripts' first lines. Follows no link into
   * `silent`, mount points that do not answer. Empty if a directory has not answered within two seconds.
   */
  readToolDirectories(
    paths: readonly string[],
    readsScripts: readonly boolean[],
    silent: readonly string[],
  ): NativeToolDirectory[];
  /**
   * Resolves when the file system of an absolute path answers; rejects with ERR_SANDBOX_SETUP, naming the path,
   * if it has not within 30 seconds. Holds up no thread of Node's pool. Keeps the process alive.
   */
  awaitAnswer(path: string): Promise<void>;
  /**
   * Locks an open file or directory for this descriptor, without waiting, until it is closed or the process ends
   * (flock(2)), or changes the kind of its lock. Returns false if another process or another descriptor has locked it.
   * Throws like Node's fs.
   * @param isShared others may have it locked so, too. Default false.
   */
  lockFile(descriptor: number, isShared?: boolean): boolean;
  /** Makes a FIFO with these permissions, whatever the umask is. `path`: its bytes. Throws like Node's fs. */
  makeFifo(path: Uint8Array, mode: number): void;
  /** Resolves when the disk keeps all that was written to an open file's file system (syncfs(2)). */
  syncFileSystem(descriptor: number): Promise<void>;
  /**
   * Returns the numbers that identify a state of an entry, given an open file or a path (links are not
   * followed): the six numbers of {@link WorkspaceSurvey}. Needed because not every engine's node:fs reports
   * file times to the nanosecond. Throws like Node's fs.
   */
  entryState(place: number | string): Uint8Array;
  /** Returns the path of a program on the host's own PATH, or on the given one; null if it is not found. */
  findProgram(name: string, searchPath?: string): string | null;
}
