import { resolve } from "node:path";

import type { AuditLogTarget } from "../../types/audit-log.js";
import { invalidType, invalidValue, SandboxError } from "../errors.js";
import { expectFields, type FieldsOf } from "../fields.js";
import { checkShellCommand } from "../shell-policy/check-shell-command.js";
import type { ShellFinding } from "../shell-policy/policy.js";
import { findAvailability } from "./availability.js";
import type { RuntimeConfig, SecurityConfig } from "./config.js";
import { checkMounts, type Mount, type RuntimeKind } from "./kinds.js";
import {
  type ExecuteOptions,
  type Runtime,
  type RuntimeAvailability,
  type RuntimeName,
  RuntimeResult,
  type RuntimeRunner,
  type RuntimeRunnerOptions,
  type RuntimeStep,
  withCause,
} from "./runtime.js";

const kExecuteOptions: FieldsOf<ExecuteOptions> = {
  workdir: true,
  mounts: true,
  env: true,
  timeoutSecs: true,
  signal: true,
};
const kRunnerOptions: FieldsOf<RuntimeRunnerOptions> = {
  shadowDir: true,
  workspaceIsRoot: true,
  envPolicy: true,
  maxConcurrent: true,
  mounts: true,
  transaction: true,
  auditLog: true,
};

function timeoutMs(seconds: number | undefined): number | undefined {
  if (seconds === undefined) return undefined;
  if (typeof seconds !== "number") throw invalidType("timeoutSecs", "a number above 0", seconds);
  if (!(seconds > 0)) throw invalidValue(`Expected \`timeoutSecs\` to be above 0, got ${seconds}`);
  return seconds * 1000;
}

/**
 * Returns an error for rules that a runtime can't enforce, or a root file system that it can't have: it must neither open
 * the network, nor run the host's programs in the place of others, nor appear to be faulty.
 */
function unableToConfine(kind: RuntimeKind, config: RuntimeConfig): SandboxError | undefined {
  if (config.bubblewrap.root !== undefined && !kind.ownRoot) {
    return new SandboxError(`${kind.title} can't have another root file system`, {
      code: "ERR_SANDBOX_UNAVAILABLE",
      fix: "use Bubblewrap, or leave `bubblewrap.root` out",
    });
  }
  if (kind.byDomain || typeof kind.network(config) !== "object") return undefined;
  return new SandboxError(`${kind.title} can't have a network by domain`, {
    code: "ERR_SANDBOX_UNAVAILABLE",
    fix: "use Bubblewrap, or set `network` to deny or allow",
  });
}

/** Number of runners that `execute` keeps, so that their prewarmed sandboxes serve later calls. */
const kMostRunners = 8;

/** One kind of runtime with one configuration. */
export class ConfiguredRuntime implements Runtime {
  readonly steps: readonly RuntimeStep[];
  readonly #kind: RuntimeKind;
  readonly #config: RuntimeConfig;
  readonly #auditLog: AuditLogTarget | undefined;
  readonly #runners = new Map<string, RuntimeRunner>(); // the most recently used is last

  /** @param its `auditLog`: records the runs of its runners, unless they have their own. */
  constructor(
    kind: RuntimeKind,
    config: RuntimeConfig,
    its: { steps?: readonly RuntimeStep[]; auditLog?: AuditLogTarget | undefined } = {},
  ) {
    this.#kind = kind;
    this.#config = config;
    this.steps = its.steps ?? [];
    this.#auditLog = its.auditLog;
  }

  get name(): RuntimeName {
    return this.#kind.name;
  }

  async isAvailable(options: { refresh?: boolean } = {}): Promise<RuntimeAvailability> {
    expectFields(options, "options", { refresh: true });
    const unable = unableToConfine(this.#kind, this.#config);
    if (unable !== undefined) {
      const { message: reason, fix } = unable;
      const because = fix === undefined ? { reason } : { reason, fix };
      return { available: false, state: "broken", ...because, layers: [], probes: [] };
    }
    return availabilityOf(this.#kind, this.#config, options.refresh);
  }

  async execute(command: string, options: ExecuteOptions = {}): Promise<RuntimeResult> {
    expectFields(options, "options", kExecuteOptions);
    const isConfined = this.#kind.grants(this.#config) !== undefined;
    const isAdvice = isConfined && !setsLists(this.#config.security);
    const warnings = checkAgainstLists(command, this.#config.security, { isAdvice });
    const { workdir = ".", mounts, env, timeoutSecs, signal } = options;
    if (typeof workdir !== "string") throw invalidType("workdir", "a string", workdir);
    const runner = this.#runnerFor(resolve(workdir), checkMounts(mounts));
    const result = await runner.exec({
      argv: ["sh", "-c", "--", command], // "--": a command may begin with a dash
      env,
      limits: { timeoutMs: timeoutMs(timeoutSecs) },
      signal,
    });
    return new RuntimeResult(result, warnings);
  }

  runner(options: RuntimeRunnerOptions): RuntimeRunner {
    expectFields(options, "options", kRunnerOptions);
    const { mounts, ...own } = options;
    return this.#makeRunner(own, checkMounts(mounts));
  }

  #makeRunner(options: Parameters<RuntimeKind["makeRunner"]>[1], mounts: readonly Mount[]) {
    const unable = unableToConfine(this.#kind, this.#config);
    if (unable !== undefined) throw unable;
    const auditLog = options.auditLog ?? this.#auditLog;
    return this.#kind.makeRunner(this.#config, { ...options, auditLog }, mounts);
  }

  /** A runner that is dropped ends its sandboxes when it is collected. */
  #runnerFor(shadowDir: string, mounts: readonly Mount[]): RuntimeRunner {
    const key = JSON.stringify([shadowDir, mounts]);
    const runner = this.#runners.get(key) ?? this.#makeRunner({ shadowDir }, mounts);
    this.#runners.delete(key);
    this.#runners.set(key, runner);
    const [oldest] = this.#runners.keys();
    if (this.#runners.size > kMostRunners && oldest !== undefined) this.#runners.delete(oldest);
    return runner;
  }
}

/** Caches the availability of each runtime and policy; one test serves all callers that wait for it. */
export class AvailabilityCache {
  readonly #known = new Map<string, Promise<RuntimeAvailability>>();

  readonly #find: typeof findAvailability;

  /** @param find for tests. */
  constructor(find = findAvailability) {
    this.#find = find;
  }

  async get(
    kind: RuntimeKind,
    config: RuntimeConfig,
    refresh = false,
  ): Promise<RuntimeAvailability> {
    const key = JSON.stringify([kind.name, kind.policy(config)]);
    const known = refresh ? undefined : this.#known.get(key);
    const answer = known ?? this.#find(kind, config);
    this.#known.set(key, answer);
    const found = await answer;
    return withCause(structuredClone(found), found.cause);
  }

  clear(): void {
    this.#known.clear();
  }
}

/** The cache of this Node environment: hosts rarely change, and a test costs some runs. */
const processCache = new AvailabilityCache();

/** See {@link AvailabilityCache.get}. */
function availabilityOf(
  kind: RuntimeKind,
  config: RuntimeConfig,
  refresh?: boolean,
): Promise<RuntimeAvailability> {
  return processCache.get(kind, config, refresh);
}

/** Clears the cached availability of runtimes, after a change of the host: the next call tests again. */
export function forgetAvailability(): void {
  processCache.clear();
}

/** True if the operator set a list, or chose among the classes of the built-in block list. */
function setsLists(security: SecurityConfig): boolean {
  const { shellAllowlist, shellAllowlistMode, shellBlocklist, disabledShellRules } = security;
  const lists = [shellAllowlist, shellBlocklist, disabledShellRules];
  return shellAllowlistMode !== "off" || lists.some(({ length }) => length > 0);
}

/**
 * Returns the findings that the shell lists only warn about.
 * @param its `isAdvice`: what they would refuse is only warned about, too. For a sandbox without a list of the operator:
 * there the sandbox is the boundary, and agents run `python3 -c` all day.
 * @throws SandboxError with code ERR_COMMAND_BLOCKED for a command that they refuse.
 */
export function checkAgainstLists(
  command: string,
  security: SecurityConfig,
  its: { isAdvice?: boolean } = {},
): ShellFinding[] {
  const { allowed, blocked, warnings } = checkShellCommand(command, security);
  if (allowed) return warnings;
  if (blocked && its.isAdvice) return [blocked];
  const reason = blocked?.reason ?? "The shell lists refuse it.";
  throw new SandboxError(`command blocked (${blocked?.rule ?? "shell lists"}): ${reason}`, {
    code: "ERR_COMMAND_BLOCKED",
    cause: blocked,
  });
}
