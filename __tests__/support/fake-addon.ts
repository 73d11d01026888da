/**
 * A stand-in for the addon, put in at the loader's seam (LoaderHost.load): it records what lib
 * hands over and settles runs when a test says so.
 */

import { lstatSync, statSync } from "node:fs";

import type {
  ForwardAnswer,
  LeaseHandle,
  LiveCallbacks,
  NativeAddon,
  NativeContext,
  NativeHomeView,
  NativePlan,
  NativeRequest,
  NativeSpawnRequest,
  PortAnswer,
  ProcessSandboxHandle,
  RunnerHandle,
  SessionHandle,
} from "../../types/addon.js";
import type {
  CommitAnswer,
  NativeCheckpoint,
  NativeListedTransaction,
  NativeSpaceReport,
  OpenedTransaction,
  PackedChanges,
  TransactionHandle,
} from "../../types/addon-transaction.js";
import type { ProcessSandboxCommand } from "../../types/process-sandbox.js";
import type { SandboxedAuditRecord, SandboxedExecResult } from "../../types/public.js";

type OpenOptions = Parameters<TransactionHandle["open"]>[0];

export type FakeRun = {
  request: NativeRequest;
  /** Of a live process. */
  live?: NativeSpawnRequest & LiveCallbacks;
  context: NativeContext;
  resolve(result: SandboxedExecResult): void;
  reject(error: unknown): void;
};

/** The addon's `lookAt`, by Node's own means. */
export const fakeLookAt: NativeAddon["lookAt"] = (path, follows, status) => {
  try {
    const { mode, uid, gid, dev, ino, ctimeMs, size } = (follows ? statSync : lstatSync)(path);
    status.set([mode, uid, gid, dev, ino, ctimeMs, size]);
    return true;
  } catch {
    return false;
  }
};

const kUsage = { userCpuMs: 1, systemCpuMs: 1, peakMemoryBytes: 1024 };

const kAudit: SandboxedAuditRecord = {
  kind: "native.exec",
  cmd: "bwrap",
  argv: ["--unshare-net", "--", "ls"],
  durationMs: 1,
  timedOut: false,
  signal: null,
  truncatedStdout: false,
  truncatedStderr: false,
  runtime: "bubblewrap",
  layers: ["seccomp"],
  policyHash: "",
  outcome: "exited",
  usage: kUsage,
  timing: { queueMs: 0.1, setupMs: 5, commandMs: 1, teardownMs: 0.5 },
  start: "cold",
  prewarmed: false,
  kill: null,
};

export function result(changes: Partial<SandboxedExecResult> = {}): SandboxedExecResult {
  return {
    exitCode: 0,
    stdout: new Uint8Array(),
    stderr: new Uint8Array(),
    truncatedStdout: false,
    truncatedStderr: false,
    outcome: { kind: "exited" },
    stdoutBytes: 0,
    stderrBytes: 0,
    usage: kUsage,
    audits: [{ ...kAudit }],
    denials: [],
    denialsOmitted: 0,
    stdoutText: "",
    stderrText: "",
    ...changes,
  };
}

/** An error as the addon makes it: plain, with a code. */
export function nativeError(message: string, code: string, fix?: string): Error {
  return Object.assign(new Error(message), { code, fix });
}

const kNoChanges: PackedChanges = { text: "", numbers: new Uint8Array(0) };

/** What was asked of the fake since it was made. */
export class FakeAddon {
  readonly configured: string[] = [];
  readonly options: object[] = [];
  /** What each of these was given beside its options. */
  readonly transactions: unknown[] = [];
  readonly runs: FakeRun[] = [];
  readonly aborted: number[] = [];
  /** What live processes were told: the call's name and its arguments. */
  readonly reported: [string, ...unknown[]][] = [];
  policyTextCalls = 0;
  /** What the handles were told to show of home and tools. */
  homeViews: NativeHomeView[] = [];
  closed = 0;
  readonly poolState = { standing: 2, taken: 5, missed: 1, discarded: 3 };
  warmFailure: Error | undefined;
  openFailure: Error | undefined;
  commitAnswer: CommitAnswer = {
    committed: kNoChanges,
    digests: [],
    left: kNoChanges,
    conflicts: [],
    refused: [],
    unexpected: [],
  };
  /** What there is on disk. */
  listed: NativeListedTransaction[] = [];
  /** The answer of `measureTransactions`. */
  space: NativeSpaceReport = { each: [], totalBytes: 0 };
  /** What opens a transaction that is a copy. */
  copies: ((options: OpenOptions) => Promise<OpenedTransaction>) | undefined;
  undoConflicts: string[] = [];
  readonly checkpoints: NativeCheckpoint[] = [];
  /** Whether a transaction has to be freshened. */
  isStale = false;
  freshenFailure: Error | undefined;
  sessionLayers = ["seccomp", "command-separation", "session"];
  /** Ends the session that was opened last. */
  endSession: (reason: string) => void = () => {};
  /** Ends the wait for a port that was asked for last. */
  answerPort: (answer: PortAnswer) => void = () => {};
  /** Thrown by the next constructor or call, once. */
  refusal: Error | undefined;

  #refuse(): void {
    const refusal = this.refusal;
    this.refusal = undefined;
    if (refusal) throw refusal;
  }

  get addon(): NativeAddon {
    const fake = this;
    class Handle implements RunnerHandle {
      constructor(options: object, transaction?: unknown) {
        fake.#refuse();
        fake.options.push(options);
        fake.transactions.push(transaction);
      }
      policyText() {
        fake.policyTextCalls += 1;
        return "native-runner-policy 1\n";
      }
      showHome(view: NativeHomeView) {
        fake.homeViews.push(view);
      }
      trust() {}
      exec(request: NativeRequest, context: NativeContext) {
        fake.#refuse();
        const id = fake.runs.length;
        const done = new Promise<SandboxedExecResult>((resolve, reject) => {
          fake.runs.push({ request, context, resolve, reject });
        });
        return { id, done };
      }
      spawn(request: NativeSpawnRequest & LiveCallbacks, context: NativeContext) {
        const { pty: _, ...others } = request;
        const run = this.exec(others, context);
        fake.run(run.id).live = request;
        return run;
      }
      write(id: number, bytes: Uint8Array) {
        fake.reported.push(["write", id, Buffer.from(bytes).toString()]);
      }
      endInput(id: number) {
        fake.reported.push(["endInput", id]);
      }
      grant(id: number, stream: string, bytes: number) {
        fake.reported.push(["grant", id, stream, bytes]);
      }
      closeOutput(id: number, stream: string) {
        fake.reported.push(["closeOutput", id, stream]);
      }
      signal(id: number, signal: number) {
        fake.reported.push(["signal", id, signal]);
      }
      resize(id: number, size: { cols: number; rows: number }) {
        fake.reported.push(["resize", id, size]);
      }
      waitForPort(id: number, port: number, options: object) {
        fake.reported.push(["waitForPort", id, port, options]);
        const done = new Promise<PortAnswer>((resolve) => {
          fake.answerPort = resolve;
        });
        return { id: 7, done };
      }
      async forward(id: number, port: number, options: object): Promise<ForwardAnswer> {
        fake.reported.push(["forward", id, port, options]);
        return { state: "gone", number: 0, hostPort: 0, errno: 0 };
      }
      async closeForward(id: number, number: number): Promise<ForwardAnswer> {
        fake.reported.push(["closeForward", id, number]);
        return { state: "gone", number: 0, hostPort: 0, errno: 0 };
      }
      stopWait(id: number) {
        fake.reported.push(["stopWait", id]);
        fake.answerPort("stopped");
      }
      abort(id: number) {
        fake.aborted.push(id);
      }
      async warm() {
        if (fake.warmFailure) throw fake.warmFailure;
        return fake.poolState.standing;
      }
      async close() {
        fake.closed += 1;
        return 0;
      }
      pool() {
        return fake.poolState;
      }
      poolNumber() {
        return 0;
      }
      abortAndWait(id: number) {
        fake.aborted.push(id);
      }
      explain(request: NativeRequest, context: NativeContext): NativePlan {
        return { ...this.exec(request, context), environment: ["A=1=2", "EMPTY="] };
      }
    }
    class Session extends Handle implements SessionHandle {
      #end: (reason: string) => void = () => {};

      constructor(options: object, session: object) {
        super({ ...options, session });
      }
      open() {
        const ended = new Promise<string>((resolve) => {
          this.#end = resolve;
          fake.endSession = resolve;
        });
        return { opened: Promise.resolve(fake.sessionLayers), ended };
      }
      number() {
        return 1;
      }
      override async close() {
        this.#end("it was closed");
        return super.close();
      }
    }
    class Transaction implements TransactionHandle {
      async open(options: OpenOptions): Promise<OpenedTransaction> {
        fake.reported.push(["open", options]);
        if (fake.openFailure) throw fake.openFailure;
        if (fake.copies) return fake.copies(options);
        return { id: "0123456789ab", backend: "overlay" } as const;
      }
      stop() {
        fake.reported.push(["stop"]);
      }
      async close() {
        fake.reported.push(["close"]);
      }
      isStale() {
        return fake.isStale;
      }
      async freshen() {
        fake.reported.push(["freshen"]);
        if (fake.freshenFailure) throw fake.freshenFailure;
        fake.isStale = false;
      }
      async look() {
        fake.reported.push(["look"]);
      }
      async changes(options: object) {
        fake.reported.push(["changes", options]);
        return kNoChanges;
      }
      async diff(options: object) {
        fake.reported.push(["diff", options]);
        return "";
      }
      async check(request: object) {
        fake.reported.push(["check", request]);
        return fake.commitAnswer;
      }
      async planCommitMerge(request: object) {
        fake.reported.push(["planCommitMerge", request]);
        return [];
      }
      async commit(request: object) {
        fake.reported.push(["commit", request]);
        return fake.commitAnswer;
      }
      async undo() {
        fake.reported.push(["undo"]);
        return fake.undoConflicts;
      }
      async fork() {
        fake.reported.push(["fork"]);
        return "00000000000f";
      }
      async planMerge(options: object) {
        fake.reported.push(["planMerge", options]);
        return [];
      }
      async merge(request: object) {
        fake.reported.push(["merge", request]);
      }
      async sweep() {}
      async checkpoint({ name = "" }: { name?: string }) {
        fake.reported.push(["checkpoint", name]);
        const made = { id: `00000000000${fake.checkpoints.length}`, name, createdMs: 1000 };
        fake.checkpoints.push(made);
        return made;
      }
      async checkpoints() {
        return fake.checkpoints;
      }
      async rollback(options: object) {
        fake.reported.push(["rollback", options]);
      }
      async discard() {
        fake.reported.push(["discard"]);
      }
    }
    return {
      Lease: class implements LeaseHandle {
        renew = () => true;
        hasExpired = () => false;
        term = () => 1;
      },
      lockFile: () => true,
      makeFifo: () => {},
      syncFileSystem: async () => {},
      lookAt: fakeLookAt,
      readToolDirectories: (paths) => paths.map(() => ({ links: [], interpreters: [] })),
      expectAnswer: () => {},
      silentMounts: () => [],
      awaitAnswer: async () => {},
      PathStamps: class {
        areSame = () => true;
      },
      entryState: () => {
        throw new Error("fake-addon: files are for integration tests");
      },
      reportFields: [],
      configure: ({ launcherPath }) => void fake.configured.push(launcherPath),
      buildBubblewrapArgv: ({ bwrapPath, commandArgv }) => {
        fake.#refuse();
        return { cmd: bwrapPath, args: ["--", ...commandArgv] };
      },
      BubblewrapProcessSandbox: class implements ProcessSandboxHandle {
        constructor(options: object) {
          fake.#refuse();
          fake.options.push(options);
        }
        wrap({ cmd, args }: ProcessSandboxCommand) {
          fake.#refuse();
          return { cmd: "bwrap", args: [cmd, ...args] };
        }
      },
      WorkspaceFiles: class {
        constructor() {
          throw new Error("fake-addon: files are for integration tests");
        }
      } as never,
      BubblewrapNativeRunner: Handle,
      ProjectRunner: Handle,
      LandlockNativeRunner: Handle,
      FirejailNativeRunner: Handle,
      LocalNativeRunner: Handle,
      BubblewrapSession: Session,
      LandlockSession: Session,
      Transaction,
      async listTransactions(options) {
        fake.reported.push(["list", options]);
        if (fake.openFailure) throw fake.openFailure;
        return fake.listed;
      },
      async measureTransactions(options) {
        fake.reported.push(["measure", options]);
        return fake.space;
      },
      answerNetworkQuestion: (question, answer) =>
        void fake.reported.push(["answer", question, answer]),
      openTerminator: () => ({ channel: -1, end: -1 }),
      landlockAbi: () => 7,
      controlGroup: () => undefined,
      findProgram: (name) => `/usr/bin/${name}`,
    };
  }

  /** The run with this number. */
  run(index = 0): FakeRun {
    const run = this.runs[index];
    if (!run) throw new Error(`run ${index} was not started`);
    return run;
  }
}
