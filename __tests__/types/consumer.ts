/**
 * What a host application's TypeScript does with the package. Compiled, never run, by
 * declarations.test.ts; each `@ts-expect-error` is a control that the types really are there.
 */

import {
  applyProcessSandbox,
  BubblewrapNativeRunner,
  type BubblewrapNativeRunnerOptions,
  type BubblewrapNetworkMode,
  Bwrap,
  buildBubblewrapArgv,
  type CloneMode,
  createBubblewrapProcessSandbox,
  createRuntime,
  LocalNativeRunner,
  type LocalNativeRunnerOptions,
  type NativeAuditRecord,
  type NativeExecInput,
  type NativeExecResult,
  type NativeLimits,
  type NativeRunner,
  type NativeSession,
  type NativeSpawnInput,
  type NetworkByDomain,
  type NetworkConnection,
  type Outcome,
  type PoolMessage,
  type ProcessSandbox,
  type ProcessSandboxCommand,
  type RunEndMessage,
  type RunnerMetrics,
  type RunStartMessage,
  type RunTiming,
  type Runtime,
  type RuntimeConfigInput,
  type SandboxAuditRecord,
  SandboxError,
  type SandboxedExecResult,
  type SandboxFromEnv,
  type SandboxProcess,
  type SandboxStart,
  type SessionShare,
  sandboxFromEnv,
  WaitForPortError,
} from "@openagentic/native-runner";

// The types of the package that this one replaces.
type OldLimits = { maxStdoutBytes?: number; maxStderrBytes?: number; timeoutMs?: number };
type OldInput = {
  argv: string[];
  cwd?: string;
  env?: Record<string, string>;
  stdin?: Uint8Array;
  limits?: OldLimits;
};
type OldAudit = {
  kind: "native.exec";
  cmd: string;
  argv: string[];
  cwd?: string;
  durationMs: number;
  timedOut: boolean;
  signal?: string | null;
  truncatedStdout: boolean;
  truncatedStderr: boolean;
};
type OldResult = {
  exitCode: number;
  stdout: Uint8Array;
  stderr: Uint8Array;
  truncatedStdout: boolean;
  truncatedStderr: boolean;
  audits?: OldAudit[];
};
interface OldRunner {
  exec(input: OldInput): Promise<OldResult>;
}

// A host's own runner, written against the old types, is a NativeRunner.
class OwnRunner implements NativeRunner {
  async exec(input: NativeExecInput): Promise<NativeExecResult> {
    const audit: NativeAuditRecord = {
      kind: "native.exec",
      cmd: input.argv[0] ?? "",
      argv: input.argv,
      durationMs: 1,
      timedOut: false,
      truncatedStdout: false,
      truncatedStderr: false,
    };
    const bytes = new Uint8Array();
    return {
      exitCode: 0,
      stdout: bytes,
      stderr: bytes,
      truncatedStdout: false,
      truncatedStderr: false,
      audits: [audit],
    };
  }
}
declare const oldRunner: OldRunner;
export const runners: NativeRunner[] = [new OwnRunner(), oldRunner];

// Ours are the old ones.
const options: BubblewrapNativeRunnerOptions = { bwrapPath: "bwrap", shadowDir: "/w" };
const localOptions: LocalNativeRunnerOptions = { shadowDir: "/w" };
export const oldRunners: OldRunner[] = [
  new BubblewrapNativeRunner(options),
  new LocalNativeRunner(localOptions),
];
runners.push(new BubblewrapNativeRunner(options), new LocalNativeRunner(localOptions));

// Optional things may be undefined, also with exactOptionalPropertyTypes.
const mode: BubblewrapNetworkMode | undefined = undefined;
const limits: NativeLimits = { timeoutMs: undefined, memoryBytes: 1, keep: "head+tail" };
export const runner = new BubblewrapNativeRunner({
  shadowDir: "/w",
  network: mode,
  roBinds: Object.freeze(["/usr"]),
  envPolicy: ["PATH"] as const,
  clone: undefined,
});

// Where a sandbox came from is always told, why it was cold only where there is a why.
export const clone: CloneMode = new BubblewrapNativeRunner({ shadowDir: "/w" }).clone;
export const startOf = ({ audits: [audit] }: SandboxedExecResult): SandboxStart | undefined =>
  audit?.start;

// Rules by domain, as constants and with an answer that comes later.
const network: NetworkByDomain = {
  allow: ["a.test", "*.b.test:8443"] as const,
  deny: undefined,
  onRequest: async ({ port, command, signal }) =>
    signal.aborted || command?.[port] === undefined ? "allow" : "deny",
};
export const byDomain = new BubblewrapNativeRunner({ shadowDir: "/w", network });
// @ts-expect-error: no such preset, and no answer
export const wrongRules: NetworkByDomain[] = [{ presets: ["nmp"] }, { onRequest: () => true }];
export const connectionsOf = ({ audits }: SandboxedExecResult): NetworkConnection[] =>
  audits.flatMap(({ connections = [] }) => connections);

// A result of ours has every field; one of any NativeRunner may lack the new ones.
export async function use(): Promise<string> {
  const input: NativeExecInput = { argv: ["ls"], cwd: undefined, signal: undefined, limits };
  const ours = await runner.exec({ ...input, onStdout: (chunk) => chunk.byteLength });
  const total: number = ours.stdoutBytes + ours.usage.userCpuMs;
  const layers: string[] = ours.audits.flatMap((audit) => audit.layers);
  const any: NativeExecResult = ours;
  // @ts-expect-error: may be undefined
  any.outcome.kind;
  return describe(ours.outcome) + total + layers.join() + (any.outcome?.kind ?? "");
}

function describe(outcome: Outcome): string {
  switch (outcome.kind) {
    case "setup-failed":
      return outcome.reason;
    case "limit-exceeded":
      return outcome.limit;
    case "signaled":
      return outcome.signal;
    default:
      return outcome.kind;
  }
}

// What a runner counts, and what is published of its runs.
export function observe(message: RunStartMessage | RunEndMessage | PoolMessage): string {
  if ("argv" in message) return message.argv.join(" ") + (message.cwd ?? "");
  if ("pool" in message) return String(message.pool.standing + message.runner);
  if (message.error !== undefined) return String(message.error);
  // @ts-expect-error: there may be an error instead
  message.audit.timing;
  const timing: RunTiming | undefined = message.audit?.timing;
  const metrics: RunnerMetrics = runner.metrics();
  const timedOut: number = metrics.runs.outcomes["timed-out"] + metrics.phases.queue.p99Ms;
  // @ts-expect-error: there is no such kind
  metrics.runs.outcomes.failed;
  return [timing?.queueMs, message.bytes?.stdout.kept, timedOut].join(" ");
}

// The classes can be subclassed.
export class Logged extends BubblewrapNativeRunner {
  override async exec(input: NativeExecInput) {
    const result = await super.exec(input);
    return { ...result, audits: result.audits.map((audit) => ({ ...audit, cwd: this.shadowDir })) };
  }
}

// As those of the package that this one replaces did.
export class OldLogged extends BubblewrapNativeRunner {
  override async exec(input: NativeExecInput): Promise<NativeExecResult> {
    const result = await super.exec(input);
    return result.usage.peakMemoryBytes > 0 ? result : { ...result, audits: [] };
  }
}
export class NoRunner extends LocalNativeRunner {
  // @ts-expect-error: no result
  override async exec(input: NativeExecInput): Promise<string> {
    return input.argv.join(" ");
  }
}
export const subclasses: NativeRunner[] = [new OldLogged(options), new Logged(options)];

// Variables as process.env has them.
export const withVariables = [
  runner.exec({ argv: ["env"], env: process.env }),
  runner.spawn({ argv: ["env"], env: { ...process.env, A: undefined } }),
];
// @ts-expect-error: a number is no variable's value
runner.exec({ argv: ["env"], env: { A: 1 } });

// Read-only paths as the old type had them, and as constants are.
const mutableBinds: string[] = ["/usr"];
const readonlyBinds = ["/usr", "/etc"] as const;
export const bound = [mutableBinds, readonlyBinds].map(
  (roBinds) => new BubblewrapNativeRunner({ shadowDir: "/w", roBinds }),
);

const built = buildBubblewrapArgv({
  bwrapPath: runner.bwrapPath,
  shadowDir: runner.shadowDir,
  commandArgv: ["ls"],
  network: runner.network,
  roBinds: runner.roBinds,
});
export const line: string = [built.cmd, ...built.args].join(" ");

export function fixOf(error: unknown): string | undefined {
  if (!(error instanceof SandboxError)) return undefined;
  const code:
    | "ERR_SANDBOX_UNAVAILABLE"
    | "ERR_SANDBOX_SETUP"
    | "ERR_SANDBOX_CLOSED"
    | "ERR_COMMAND_BLOCKED" = error.code;
  return error.fix ?? code;
}

export async function chosen(): Promise<string> {
  const config: RuntimeConfigInput = { runtimeType: "auto", landlock: { fsReadDirs: ["/usr"] } };
  const runtime: Runtime = await createRuntime(config, { environment: {}, warn: () => {} });
  const asOld: NativeRunner = runtime.runner({ shadowDir: "/w" });
  const { kills }: RunnerMetrics = runtime.runner({ shadowDir: "/w" }).metrics();
  const { exitCode }: { exitCode: number | null } = await runtime.execute("ls", { timeoutSecs: 5 });
  const { available, reason, layers } = await runtime.isAvailable();
  return [
    runtime.name,
    kills.proved,
    available,
    reason,
    exitCode,
    ...layers,
    typeof asOld.exec,
  ].join(" ");
}

// A live process: Node streams, and what only a terminal has.
export async function spoken(): Promise<number> {
  await using process: SandboxProcess = await runner.spawn({
    argv: ["bash"],
    limits: { timeoutMs: 1000 },
    pty: { cols: 80, rows: 24, term: undefined },
  });
  process.stdin.write("exit\n");
  process.stdout.setEncoding("utf8");
  process.stderr?.resume();
  process.resize({ cols: 100, rows: 30 });
  process.signal("SIGWINCH");
  // @ts-expect-error: no signal
  process.signal("TERM");
  await process.waitForPort(3000, { timeoutMs: Infinity, intervalMs: 5, signal: undefined });
  // @ts-expect-error: a port is a number
  await process.waitForPort("3000");
  // @ts-expect-error: a size has rows
  process.resize({ cols: 1 });
  const { exitCode } = await process.result;
  return exitCode;
}
// @ts-expect-error: nothing is kept of a live process' output
export const wrongSpawn: NativeSpawnInput = { argv: ["ls"], limits: { maxStdoutBytes: 1 } };

// Process sandboxes in the shapes of old: a host's own is one of ours, and ours one of the host's.
type OldMount = {
  kind: "dir";
  label?: string;
  hostPath: string;
  guestPath: string;
  mode: "rw" | "ro";
};
type OldCommand = {
  cmd: string;
  args: string[];
  env: Record<string, string>;
  cwd?: string;
  mounts?: OldMount[];
};
type OldWrapped = { cmd: string; args: string[]; env?: Record<string, string>; cwd?: string };
type OldSandbox = { name: string; wrap(command: OldCommand): OldWrapped };

const oldSandbox: OldSandbox = {
  name: "own",
  wrap: ({ cmd, args, env }) => ({ cmd: "cage", args: [cmd, ...args], env }),
};
export const asNew: ProcessSandbox = oldSandbox;
export const command: ProcessSandboxCommand = { cmd: "ls", args: [], env: {} } satisfies OldCommand;
export const applied = applyProcessSandbox({
  sandbox: createBubblewrapProcessSandbox({ network: "deny", roBinds: ["/usr"] }),
  command,
});
export const childEnvironment: Record<string, string> = applied.spawn.env;
export const record: SandboxAuditRecord | undefined = applied.audit;

export async function hosted(): Promise<string> {
  const sandbox: SandboxFromEnv = await sandboxFromEnv(process.env, { name: "a", warn: () => {} });
  const asOld: NativeRunner = sandbox.runner({ shadowDir: "/w" });
  const wrapped = applyProcessSandbox({ sandbox: sandbox.processSandbox, command });
  const text = await new Bwrap("/p", [{ path: "/q" }], false, { timeoutMs: 1 }).exec("ls");
  return [sandbox.name, sandbox.isConfined, typeof asOld.exec, wrapped.spawn.cmd, text].join(" ");
}

export async function sessions(): Promise<number> {
  const runner = new BubblewrapNativeRunner({ shadowDir: "/w" });
  const session: NativeSession = await runner.openSession({ shell: true, idleTimeoutMs: 1000 });
  const asRunner: NativeRunner = session;
  const { exitCode } = await asRunner.exec({ argv: ["ls"] });
  const shares: readonly SessionShare[] = session.shares;
  await session.waitForPort(3000).catch((error: unknown) => {
    if (!(error instanceof WaitForPortError)) throw error;
    const { code, port, outcome }: WaitForPortError = error;
    const reported: ["ERR_SANDBOX_PORT", number, string | undefined] = [code, port, outcome?.kind];
    return reported;
  });
  const reason: string = await session.ended;
  await session.close();
  const results = await runner.execBatch([["ls"], { argv: ["ls"] }], { stopOnError: true });
  // @ts-expect-error: not an option of a session
  await runner.openSession({ shels: true });
  // @ts-expect-error: a command is no string
  await runner.execBatch(["ls"]);
  return exitCode + shares.length + reason.length + results.length;
}
// @ts-expect-error: a folder is no number
new Bwrap(1);

// @ts-expect-error: shadowDir is required
new BubblewrapNativeRunner({});
// @ts-expect-error: not a mode
new BubblewrapNativeRunner({ shadowDir: "/w", network: "some" });
// @ts-expect-error: read-only
runner.network = "allow";
// @ts-expect-error: read-only
runner.roBinds.push("/root");
export const textInput: NativeExecInput = { argv: ["ls"], stdin: "text", stderr: "merge" };
// @ts-expect-error: a number is no input
export const wrongStdin: NativeExecInput = { argv: ["ls"], stdin: 5 };
