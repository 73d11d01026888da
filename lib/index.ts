export type {
  AuditClose,
  AuditEntry,
  AuditEvents,
  AuditFileBegin,
  AuditGap,
  AuditGrant,
  AuditKind,
  AuditLogOptions,
  AuditLogTarget,
  AuditOpen,
  AuditPolicy,
  AuditProblem,
  AuditRecovery,
  AuditRun,
  AuditSession,
  AuditTemplate,
  AuditVerification,
  VerifyOptions,
} from "../types/audit-log.js";
export type {
  WorkspaceEntry,
  WorkspaceEntryType,
  WorkspaceFiles,
  WorkspaceListOptions,
  WorkspaceMkdirOptions,
  WorkspacePath,
  WorkspaceReadOptions,
  WorkspaceReadTextOptions,
  WorkspaceRemoveOptions,
  WorkspaceStat,
  WorkspaceWriteOptions,
} from "../types/files.js";
export type { LeaseOptions } from "../types/lease.js";
export type {
  ConnectionEvent,
  ConnectionMessage,
  ConnectionMetrics,
  NetworkMetrics,
  PhaseMetrics,
  PoolMessage,
  RequestMessage,
  RunEndMessage,
  RunnerMetrics,
  RunStartMessage,
  StreamMetrics,
  TransactionMessage,
  TransactionMetrics,
} from "../types/metrics.js";
export type {
  BubblewrapProcessSandboxOptions,
  ProcessSandbox,
  ProcessSandboxCommand,
  ProcessSandboxMount,
  ProcessSandboxWrappedCommand,
  SandboxAuditRecord,
} from "../types/process-sandbox.js";
export type {
  BubblewrapArgvOptions,
  BubblewrapCommand,
  BubblewrapExplanation,
  BubblewrapNativeRunnerOptions,
  BubblewrapNetwork,
  BubblewrapNetworkMode,
  CloneMode,
  Denial,
  DenialKind,
  DeniedBy,
  EnvironmentPolicy,
  ExplainMode,
  FirejailNativeRunnerOptions,
  ForwardOptions,
  ForwardRecord,
  Grant,
  HttpRequestRecord,
  HttpRule,
  InTransaction,
  IsolationMode,
  LandlockNativeRunnerOptions,
  LocalNativeRunnerOptions,
  NativeAuditRecord,
  NativeExecInput,
  NativeExecResult,
  NativeLimits,
  NativeMount,
  NativeRunner,
  NativeSpawnInput,
  NativeSpawnLimits,
  NetworkAnswer,
  NetworkByDomain,
  NetworkConnection,
  NetworkMode,
  NetworkPreset,
  NetworkRequest,
  NetworkVia,
  Outcome,
  OutputKeep,
  PoolState,
  PortForward,
  RunnerExecInput,
  SandboxErrorCode,
  SandboxedAuditRecord,
  SandboxedExecResult,
  SandboxNamespaces,
  SandboxProcess,
  SandboxStart,
  Secret,
  SecretValue,
  ShellStateReport,
  StderrMode,
  TerminalOptions,
  TerminalSize,
  Usage,
  WaitForPortOptions,
} from "../types/public.js";
export type { KillProof, RunTiming } from "../types/run-timing.js";
export type {
  BatchOptions,
  NativeSession,
  SessionOptions,
  SessionShare,
} from "../types/session.js";
export type {
  Change,
  ChangesOptions,
  Checkpoint,
  CommitOptions,
  CommitReport,
  CommittedPath,
  DiffOptions,
  ForkOptions,
  MergeConflict,
  MergeOptions,
  MergeReport,
  Transaction,
  TransactionAudit,
} from "../types/transaction.js";
export type {
  CopyProgress,
  ListedTransaction,
  ListTransactionsOptions,
  ResumeOptions,
  TransactionBackend,
  TransactionOptions,
  TransactionSpace,
} from "../types/transaction-options.js";
export { AuditLog } from "./audit-log/audit-log.js";
export { readAuditLog } from "./audit-log/entries.js";
export { AuditLogError, type AuditLogErrorCode } from "./audit-log/files.js";
export { verifyAuditLog } from "./audit-log/verify.js";
export {
  ForwardError,
  type ForwardErrorOptions,
  SandboxError,
  type SandboxErrorOptions,
  TransactionError,
  WaitForPortError,
  type WaitForPortErrorOptions,
} from "./errors.js";
export {
  type AppliedProcessSandbox,
  type ApplyProcessSandboxOptions,
  applyProcessSandbox,
} from "./process-sandbox/apply.js";
export { createBubblewrapProcessSandbox } from "./process-sandbox/bubblewrap.js";
export {
  type SandboxFromEnv,
  type SandboxFromEnvOptions,
  sandboxFromEnv,
} from "./process-sandbox/from-env.js";
export {
  Bwrap,
  type BwrapExecOptions,
  type BwrapFolder,
  type BwrapOptions,
} from "./project/bwrap.js";
export { isNested } from "./project/nesting.js";
export { BubblewrapNativeRunner, buildBubblewrapArgv } from "./runners/bubblewrap.js";
export { FirejailNativeRunner } from "./runners/firejail.js";
export { LandlockNativeRunner } from "./runners/landlock.js";
export { Lease } from "./runners/lease.js";
export { LocalNativeRunner } from "./runners/local.js";
export type { CanaryProbe, CanaryProbeName, CanaryVerdict } from "./runtime/canary-probes.js";
export type {
  BubblewrapConfig,
  FirejailConfig,
  LandlockConfig,
  RuntimeConfig,
  RuntimeConfigInput,
  SecurityConfig,
} from "./runtime/config.js";
export { forgetAvailability } from "./runtime/configured-runtime.js";
export {
  availableRuntimes,
  type CreateRuntimeOptions,
  createRuntime,
  type RuntimeReport,
} from "./runtime/create.js";
export { loadRuntimeConfig, parseRuntimeConfig } from "./runtime/parse-config.js";
export {
  type ExecuteOptions,
  type Runtime,
  type RuntimeAvailability,
  type RuntimeMount,
  type RuntimeName,
  type RuntimeResult,
  type RuntimeRunner,
  type RuntimeRunnerOptions,
  type RuntimeState,
  type RuntimeStep,
  type RuntimeType,
  RuntimeUnavailableError,
} from "./runtime/runtime.js";
export { checkShellCommand } from "./shell-policy/check-shell-command.js";
export type {
  ShellAllowlistMode,
  ShellAllowlistRule,
  ShellBlockRule,
  ShellFinding,
  ShellPolicy,
  ShellRefusal,
  ShellVerdict,
} from "./shell-policy/policy.js";
export {
  type SkillAnswer,
  type SkillEnforcement,
  SkillError,
  type SkillErrorCode,
  type SkillErrorDetails,
  type SkillExecutionResult,
} from "./skills/answer.js";
export type { SkillRuntimeName } from "./skills/confinement.js";
export type { SkillEngineName } from "./skills/engines/choice.js";
export type {
  EngineCommand,
  EngineEnforcement,
  SkillEngine,
  SkillRequest,
} from "./skills/engines/engine.js";
export {
  type ExecuteSkillOptions,
  WasmSkillExecutor,
  type WasmSkillExecutorOptions,
} from "./skills/executor.js";
export type { SkillLimitName } from "./skills/guest/answer.mjs";
export {
  buildConfigForSkill,
  type RunSandboxedOptions,
  runSandboxed,
  type SandboxedSkillRun,
  type SkillSandboxConfig,
} from "./skills/sandbox.js";
export {
  type ResolvedSkillLimits,
  type Skill,
  type SkillLimits,
  type SkillManifest,
  shouldUseOsSandbox,
  type TrustTier,
} from "./skills/skill.js";
