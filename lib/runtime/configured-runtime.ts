import { resolve } from "node:path";

import type { AuditLogTarget } from "../../types/audit-log.js";
import { invalidType, invalidValue, SandboxError } from "../errors.js";
import { expectFields, type FieldsOf } from "../fields.js";
import { availabilityOf } from "./availability-cache.js";
import type { RuntimeConfig } from "./config/config.js";
import type { RuntimeKind } from "./kinds/kind.js";
import { checkMounts, type Mount } from "./mounts.js";
import type { RuntimeName } from "./names.js";
import { RuntimeResult } from "./result.js";
import type {
  ExecuteOptions,
  Runtime,
  RuntimeAvailability,
  RuntimeRunner,
  RuntimeRunnerOptions,
  RuntimeStep,
} from "./runtime.js";
import { checkAgainstLists } from "./shell-check.js";

const kExecuteOptions: FieldsOf<ExecuteOptions> = {
  workdir: true,
  mounts: true,
  env: true,
  timeoutSecs: true,
  signal: true,
};
const kRunnerOptions: FieldsOf<RuntimeRunnerOptions> = {
  shadowDir: true,
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

/** Rules that a runtime can't keep are no open network, and no closed one that looks like a fault of theirs. */
function unableToConfine(kind: RuntimeKind, config: RuntimeConfig): SandboxError | undefined {
  if (kind.byDomain || typeof kind.network(config) !== "object") return undefined;
  return new SandboxError(`${kind.title} can't have a network by domain`, {
    code: "ERR_SANDBOX_UNAVAILABLE",
    fix: "use Bubblewrap, or set `network` to deny or allow",
  });
}

/** Runners that `execute` keeps, so that their standing sandboxes serve later calls. */
const kMostRunners = 8;

/** One kind of runtime under one configuration. */
export class ConfiguredRuntime implements Runtime {
  readonly steps: readonly RuntimeStep[];
  readonly #kind: RuntimeKind;
  readonly #config: RuntimeConfig;
  readonly #auditLog: AuditLogTarget | undefined;
  readonly #runners = new Map<string, RuntimeRunner>(); // the one used last is last

  /** @param its `auditLog`: where its runners record their runs, unless they are told. */
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
    const warnings = checkAgainstLists(command, this.#config.security);
    const { workdir = ".", mounts, env, timeoutSecs, signal } = options;
    if (typeof workdir !== "string") throw invalidType("workdir", "a string", workdir);
    const runner = this.#runnerFor(resolve(workdir), checkMounts(mounts));
    const result = await runner.exec({
      argv: ["sh", "-c", "--", command], // "--": a command that begins with a dash is no option
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

  /** One that is forgotten ends its sandboxes when it is collected. */
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
