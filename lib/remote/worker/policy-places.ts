import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";

import type { AuditLogTarget } from "../../../types/audit-log.js";
import type { NativeExecInput } from "../../../types/public.js";
import { invalidValue, SandboxError } from "../../errors.js";
import { BubblewrapNativeRunner } from "../../runners/bubblewrap.js";
import {
  type Ceiling,
  ceilingOf,
  type LimitCeiling,
  type WorkerPolicy,
} from "../policy/ceiling.js";
import { listed, Refusal } from "../policy/checked.js";
import { narrow, narrowLimits, type RunnerOptionsForCaller } from "../policy/narrow.js";
import { expectOutside, withMasks } from "../policy/secret-masks.js";
import { kDefaultTenant, type Workspaces } from "../policy/workspace-place.js";
import type { WirePort } from "../wire/channel.js";
import type { RunKind } from "../wire/messages.js";
import { fromPlain } from "../wire/plain.js";
import { type ExchangePort, WorkspaceError } from "../workspace/exchange.js";
import { WorkerWorkspaces } from "../workspace/worker-workspaces.js";
import type { Granted, Places, RunnerPlace } from "./guest.js";

/** Milliseconds that the canary's sandbox may take. */
const kCanaryMs = 20_000;

/** Most idle runners that are kept for requests with the same policy and workspace. */
const kMostIdle = 32;

/** Number of concurrent runs, name of the worker's own directory, most bytes in it, and the pool that is served. */
export type PlacesOptions = {
  slots: number;
  name: string;
  pool: string;
  cacheBytes?: number | undefined;
  /** Paths of files of the worker that no command may read. */
  secrets?: readonly string[] | undefined;
  /** Records all runs, sessions and transactions of callers. */
  auditLog?: AuditLogTarget | undefined;
};

type RecordedOptions = RunnerOptionsForCaller & { auditLog?: AuditLogTarget | undefined };

type Kept = {
  runner: BubblewrapNativeRunner;
  limits: LimitCeiling;
  users: number;
  drop(): Promise<void>;
};

/**
 * Returns the value if it is no refusal.
 * @throws TypeError that names a field beyond the worker's policy; SandboxError for a directory that does not exist
 */
function allowed<Value>(value: Value | Refusal): Value {
  if (value instanceof Refusal) {
    if (value.isFound) throw invalidValue(value.message);
    throw new SandboxError(value.message, { code: "ERR_SANDBOX_SETUP" });
  }
  return value;
}

/** Returns `the tenant "a"`, or `the tenants "a", "b"`. */
export function tenantsText(tenants: readonly string[]): string {
  return `the tenant${tenants.length > 1 ? "s" : ""} ${listed(tenants)}`;
}

/** @throws TypeError for a tenant that may not use the pool */
function expectPool({ pools }: Ceiling, pool: string, tenant: string): void {
  if (pools === undefined || pools.includes(pool)) return;
  const may = pools.length === 0 ? "no pool" : listed(pools);
  throw invalidValue(
    `Expected \`pool\` to be one that the tenant "${tenant}" may use by the worker's policy (${may}), got "${pool}"`,
  );
}

/**
 * Returns the input with limits set by the ceiling. A live process keeps no output, and may run as long as the ceiling
 * allows.
 */
function bounded(ceiling: LimitCeiling, input: { limits?: unknown }, kind: RunKind): object {
  const limits = allowed(narrowLimits(ceiling, input.limits));
  if (kind !== "spawn") return { ...input, limits };
  const { maxStdoutBytes: _stdout, maxStderrBytes: _stderr, keep: _keep, ...own } = limits;
  const asked = (input.limits ?? {}) as { timeoutMs?: unknown };
  if (asked.timeoutMs === undefined) own.timeoutMs = ceiling.timeoutMs;
  return { ...input, limits: own };
}

/** Makes a runner for each policy and workspace that callers request, under the operator's ceiling. */
export class PolicyPlaces implements Places {
  readonly #policy: WorkerPolicy;
  readonly #workspaces: Workspaces;
  readonly #maxConcurrent: number;
  readonly #pool: string;
  readonly #secrets: readonly string[];
  readonly #auditLog: AuditLogTarget | undefined;
  /** A directory with an empty file, which lies over secrets. */
  #masks: string | undefined;
  readonly #moved: MovedPlaces;
  /** Runners in the order of use, the last used one last. */
  readonly #kept = new Map<string, Promise<Kept>>();

  constructor(
    policy: WorkerPolicy,
    workspaces: Workspaces,
    { slots, name, pool, cacheBytes, secrets = [], auditLog }: PlacesOptions,
  ) {
    this.#auditLog = auditLog;
    this.#secrets = expectOutside(secrets, workspaces.placeOf(kDefaultTenant));
    this.#pool = pool;
    this.#policy = policy;
    this.#workspaces = workspaces;
    this.#maxConcurrent = slots;
    this.#moved = new MovedPlaces(workspaces.movedFor(name), cacheBytes);
  }

  /**
   * Makes a runner for each ceiling, as runs do, so that the operator sees errors that only a runner detects, and takes
   * the worker's own directory.
   * @throws (rejects) TypeError that names the tenant; WorkspaceError ERR_WORKSPACE_LOCKED if another worker of this name
   * has these workspaces
   */
  async check(): Promise<void> {
    await this.#moved.lock();
    const all: [string | undefined, Ceiling][] = [
      [undefined, this.#policy.ceiling],
      ...this.#policy.tenants,
    ];
    const shadowDir = this.#workspaces.placeOf(kDefaultTenant);
    for (const [tenant, ceiling] of all) {
      try {
        const options = this.#optionsFor(ceiling, {});
        // No caller's command runs in these: all workspaces may be below the root directory.
        const place = { shadowDir, workspaceIsRoot: true };
        await new BubblewrapNativeRunner({ ...options, ...place, prewarm: 0 }).close();
      } catch (cause) {
        const whose = tenant === undefined ? "the policy" : `the policy of the tenant ${tenant}`;
        const reason = cause instanceof Error ? cause.message : String(cause);
        throw invalidValue(`${whose} can't be had: ${reason}`, cause);
      }
    }
  }

  async find(
    tenant: string,
    policy: unknown,
    workspace: unknown,
    openPort: () => WirePort,
  ): Promise<Granted> {
    const ceiling = ceilingOf(this.#policy, tenant);
    expectPool(ceiling, this.#pool, tenant);
    if (typeof workspace === "object" && workspace !== null) {
      const options = this.#recorded(this.#optionsFor(ceiling, fromPlain(policy)));
      const place = await this.#moved.accept(tenant, options, openPort());
      return { ...place, bounded: (input, kind) => bounded(ceiling.limits, input, kind) };
    }
    const key = JSON.stringify([tenant, policy, workspace]);
    let found = this.#kept.get(key);
    if (found === undefined) {
      found = this.#make(tenant, policy, workspace);
      found.catch(() => this.#kept.delete(key));
    }
    this.#kept.delete(key);
    this.#kept.set(key, found);
    const kept = await found;
    kept.users += 1;
    this.#dropIdle();
    const { runner, limits } = kept;
    return {
      place: runner,
      bounded: (input, kind) => bounded(limits, input, kind),
      release: () => {
        kept.users -= 1;
      },
    };
  }

  /** @throws (rejects) an Error that names the first policy under which no sandbox can be made */
  async canary(): Promise<void> {
    for (const { tenants, error } of await this.canaries()) {
      if (error === undefined) continue;
      throw tenants.length === 0
        ? error
        : new Error(`for ${tenantsText(tenants)}: ${error.message}`);
    }
  }

  /**
   * Makes a sandbox under each different policy, one after the other.
   * @returns in their order: whose it is, none for the policy of everybody; the milliseconds that it took; why it failed
   */
  async canaries(): Promise<{ tenants: string[]; ms: number; error: Error | undefined }[]> {
    const all = [{ ceiling: this.#policy.ceiling, tenants: [] as string[] }];
    for (const [tenant, ceiling] of this.#policy.tenants) {
      const { options, limits } = ceiling;
      const same = all.find((each) =>
        isDeepStrictEqual([each.ceiling.options, each.ceiling.limits], [options, limits]),
      );
      if (same === undefined) all.push({ ceiling, tenants: [tenant] });
      else if (same.tenants.length > 0) same.tenants.push(tenant);
    }
    const made = [];
    for (const { ceiling, tenants } of all) {
      const start = performance.now();
      const error = await this.#canaryOf(ceiling).then(
        () => undefined,
        (cause: unknown) => (cause instanceof Error ? cause : new Error(String(cause))),
      );
      made.push({ tenants, ms: performance.now() - start, error });
    }
    return made;
  }

  async #canaryOf(ceiling: Ceiling): Promise<void> {
    const options = this.#optionsFor(ceiling, {});
    const shadowDir = this.#workspaces.placeOf(kDefaultTenant);
    const runner = new BubblewrapNativeRunner({
      ...options,
      shadowDir,
      workspaceIsRoot: true, // as in check()
      prewarm: 0,
      clone: "never",
    });
    try {
      const input = {
        argv: ["true"],
        limits: { timeoutMs: Math.min(kCanaryMs, ceiling.limits.timeoutMs) },
      };
      const asked = bounded(ceiling.limits, input, "exec") as NativeExecInput;
      const { outcome } = await runner.exec(asked);
      if (outcome.kind === "setup-failed") {
        const { reason, fix } = outcome;
        throw new SandboxError(reason, { code: "ERR_SANDBOX_SETUP", ...(fix && { fix }) });
      }
      if (outcome.kind === "timed-out")
        throw new Error(`no sandbox has run \`true\` in ${kCanaryMs} ms`);
    } finally {
      await runner.close();
    }
  }

  slotsOf(tenant: string): number | undefined {
    return ceilingOf(this.#policy, tenant).slots;
  }

  async close(): Promise<void> {
    const all = [...this.#kept.values()];
    this.#kept.clear();
    await Promise.allSettled(all.map(async (each) => (await each).drop()));
    await this.#moved.close();
    if (this.#masks !== undefined) rmSync(this.#masks, { recursive: true, force: true });
    this.#masks = undefined;
  }

  #recorded(options: RunnerOptionsForCaller): RecordedOptions {
    return { ...options, ...(this.#auditLog && { auditLog: this.#auditLog }) };
  }

  /** Returns the options for a request, with masks over the worker's secrets. */
  #optionsFor(ceiling: Ceiling, asked: unknown): RunnerOptionsForCaller {
    const { options } = allowed(narrow(ceiling, asked));
    if (this.#secrets.length === 0) return options;
    if (this.#masks === undefined) {
      this.#masks = mkdtempSync(join(tmpdir(), "native-runner-masks-"));
      writeFileSync(join(this.#masks, "empty"), "", { mode: 0o400 });
    }
    return withMasks(options, this.#secrets, join(this.#masks, "empty"));
  }

  async #make(tenant: string, asked: unknown, workspace: unknown): Promise<Kept> {
    const ceiling = ceilingOf(this.#policy, tenant);
    const options = this.#recorded(this.#optionsFor(ceiling, fromPlain(asked)));
    const held = allowed(await this.#workspaces.open(tenant, workspace));
    const { shadowDir } = held;
    const runner = new BubblewrapNativeRunner({
      ...options,
      shadowDir,
      maxConcurrent: this.#maxConcurrent,
    });
    return {
      runner,
      limits: ceiling.limits,
      users: 0,
      drop: async () => {
        await runner.close();
        await held.close();
      },
    };
  }

  #dropIdle(): void {
    if (this.#kept.size <= kMostIdle) return;
    for (const [key, each] of this.#kept) {
      void each.then(async (kept) => {
        if (kept.users > 0 || this.#kept.size <= kMostIdle || this.#kept.get(key) !== each) return;
        this.#kept.delete(key);
        await kept.drop();
      });
    }
  }
}

/** Moved workspaces of callers: each serves one run, in a transaction whose changes are sent back. */
class MovedPlaces {
  readonly #root: string;
  readonly #maxBytes: number | undefined;
  #workspaces: Promise<WorkerWorkspaces> | undefined;

  /**
   * @param root directory that is made when the first workspace arrives
   * @param maxBytes most bytes of all files there, an integer > 0; undefined: 16 GiB
   */
  constructor(root: string, maxBytes: number | undefined) {
    this.#root = root;
    this.#maxBytes = maxBytes;
  }

  async accept(
    tenant: string,
    options: RecordedOptions,
    port: ExchangePort,
  ): Promise<Omit<Granted, "bounded">> {
    const visit = await (await this.#open()).accept(tenant, port);
    const runner = new BubblewrapNativeRunner({
      ...options,
      shadowDir: visit.directory,
      prewarm: 0,
      clone: "never",
    });
    try {
      const transaction = await runner.openTransaction({ directory: visit.transactions });
      return {
        place: transaction as unknown as RunnerPlace,
        finish: async () => {
          await visit.settle(transaction).catch(() => {}); // the caller has the error, or is gone
          await runner.close();
        },
        release: () => {},
      };
    } catch (error) {
      await runner.close();
      await visit.abandon(error instanceof Error ? error.message : String(error));
      throw error;
    }
  }

  /**
   * Takes the directory for this process, so that a second worker is refused at its start and not with a caller's run.
   * Where it can't be made, moved workspaces alone can't be had.
   * @throws (rejects) WorkspaceError ERR_WORKSPACE_LOCKED
   */
  async lock(): Promise<void> {
    try {
      await this.#open();
    } catch (error) {
      if ((error as { code?: unknown }).code !== "ERR_WORKSPACE_LOCKED") return;
      const message = `another worker of this name has ${this.#root}: give each its own --name, or --workspaces`;
      throw new WorkspaceError(message, "ERR_WORKSPACE_LOCKED", error);
    }
  }

  /** Closes the workspaces. Must not be called while runs go on. */
  async close(): Promise<void> {
    await (await this.#workspaces?.catch(() => undefined))?.close();
  }

  #open(): Promise<WorkerWorkspaces> {
    this.#workspaces ??= WorkerWorkspaces.open(this.#root, { maxBytes: this.#maxBytes }).catch(
      (error) => {
        this.#workspaces = undefined; // another process may have unlocked the directory by the next time
        throw error;
      },
    );
    return this.#workspaces;
  }
}
