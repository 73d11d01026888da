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
  Grant,
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
  SandboxErrorCode,
  SandboxedAuditRecord,
  SandboxedExecResult,
  SandboxProcess,
  SandboxStart,
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
} from "../types/transaction-options.js";
export { buildBubblewrapArgv } from "./argv.js";
export { AuditLog } from "./audit-log/audit-log.js";
export { AuditLogError, type AuditLogErrorCode } from "./audit-log/audit-log-error.js";
export { readAuditLog } from "./audit-log/read/entries.js";
export { verifyAuditLog } from "./audit-log/read/verify.js";
export { SandboxError, type SandboxErrorOptions } from "./errors.js";
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
export { Bwrap, type BwrapExecOptions, type BwrapOptions } from "./project/bwrap.js";
export type { BwrapFolder } from "./project/folders.js";
export { isNested } from "./project/nesting.js";
export { BubblewrapNativeRunner } from "./runners/bubblewrap.js";
export { FirejailNativeRunner } from "./runners/firejail.js";
export { LandlockNativeRunner } from "./runners/landlock.js";
export { Lease } from "./runners/lease.js";
export { LocalNativeRunner } from "./runners/local.js";
export { TransactionError } from "./runners/transactions/transaction-error.js";
export {
  WaitForPortError,
  type WaitForPortErrorOptions,
} from "./runners/wait-for-port-error.js";
export {
  availableRuntimes,
  type BubblewrapConfig,
  type CanaryProbe,
  type CanaryProbeName,
  type CanaryVerdict,
  type CreateRuntimeOptions,
  createRuntime,
  type ExecuteOptions,
  type FirejailConfig,
  forgetAvailability,
  type LandlockConfig,
  loadRuntimeConfig,
  parseRuntimeConfig,
  type Runtime,
  type RuntimeAvailability,
  type RuntimeConfig,
  type RuntimeConfigInput,
  type RuntimeMount,
  type RuntimeName,
  type RuntimeReport,
  type RuntimeResult,
  type RuntimeRunner,
  type RuntimeRunnerOptions,
  type RuntimeState,
  type RuntimeStep,
  type RuntimeType,
  RuntimeUnavailableError,
  type SecurityConfig,
} from "./runtime/index.js";
export { checkShellCommand } from "./shell-policy/check-shell-command.js";
export type { ShellAllowlistMode, ShellPolicy } from "./shell-policy/policy.js";
export type {
  ShellAllowlistRule,
  ShellBlockRule,
  ShellFinding,
  ShellRefusal,
  ShellVerdict,
} from "./shell-policy/verdict.js";
export {
  buildConfigForSkill,
  type EngineCommand,
  type EngineEnforcement,
  type ExecuteSkillOptions,
  type ResolvedSkillLimits,
  type RunSandboxedOptions,
  runSandboxed,
  type SandboxedSkillRun,
  type Skill,
  type SkillAnswer,
  type SkillEnforcement,
  type SkillEngine,
  type SkillEngineName,
  SkillError,
  type SkillErrorCode,
  type SkillErrorDetails,
  type SkillExecutionResult,
  type SkillLimitName,
  type SkillLimits,
  type SkillManifest,
  type SkillRequest,
  type SkillRuntimeName,
  type SkillSandboxConfig,
  shouldUseOsSandbox,
  type TrustTier,
  WasmSkillExecutor,
  type WasmSkillExecutorOptions,
} from "./skills/index.js";
