/** Creates the sandbox that an operator selects for a host application by environment variables. */

import { existsSync } from "node:fs";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { ProcessSandbox } from "../../types/process-sandbox.js";
import type { NetworkMode } from "../../types/public.js";
import { invalidType, invalidValue, SandboxError } from "../errors.js";
import { expectFields, type FieldsOf } from "../fields.js";
import { loadAddon } from "../native.js";
import { kDefaultRoBinds } from "../runners/bubblewrap.js";
import { LocalNativeRunner } from "../runners/local.js";
import type { RuntimeConfig, RuntimeConfigInput } from "../runtime/config.js";
import { kDefaultRuntimeBinds } from "../runtime/config-schema.js";
import { ConfiguredRuntime } from "../runtime/configured-runtime.js";
import {
  type RuntimeEnvironment,
  readRuntimeEnvironment,
  type Variables,
  withEnvironment,
} from "../runtime/environment.js";
import { installCommand, readHostFacts } from "../runtime/host-facts.js";
import { kKinds, unlessDefault } from "../runtime/kinds.js";
import { parseRuntimeConfig } from "../runtime/parse-config.js";
import {
  kConfiningNames,
  type Runtime,
  type RuntimeName,
  type RuntimeRunner,
  type RuntimeRunnerOptions,
  type RuntimeStep,
  RuntimeUnavailableError,
  withCause,
} from "../runtime/runtime.js";
import { createBubblewrapProcessSandbox } from "./bubblewrap.js";

/** Options of `sandboxFromEnv`. */
export type SandboxFromEnvOptions = {
  /** Called with each warning. Default: a process warning. */
  warn?: ((message: string) => void) | undefined;
  /** Name of the host application, prefixed to every message: "demo-node: …". Default "native-runner". */
  name?: string | undefined;
  /** Configuration of the host application; the variables override it. Default: no sandbox. */
  config?: RuntimeConfigInput | undefined;
};

const kOptions: FieldsOf<SandboxFromEnvOptions> = { warn: true, name: true, config: true };

/** The selected sandbox, with which a host application runs commands. */
export type SandboxFromEnv = {
  /** The confining runtime; "native" confines nothing. */
  readonly name: RuntimeName;
  /** False for "native". */
  readonly isConfined: boolean;
  /** Runs shell commands, and creates runners. */
  readonly runtime: Runtime;
  /** Creates a runner for commands; same as `runtime.runner`. */
  runner(options: RuntimeRunnerOptions): RuntimeRunner;
  /**
   * Wraps processes that the host starts itself; undefined if nothing confines. Only Bubblewrap can wrap:
   * `wrap` of any other runtime throws, so that a host can't start a process unconfined by mistake.
   */
  readonly processSandbox: ProcessSandbox | undefined;
};

function readSelection(env: Variables, input: RuntimeConfigInput): Selection {
  const said = readRuntimeEnvironment(env);
  const configured = parseRuntimeConfig({ ...input, runtimeType: input.runtimeType ?? "native" });
  const config = parseRuntimeConfig(withEnvironment(configured, said));
  if (said.required && config.runtimeType === "native") {
    throw invalidValue(
      "a sandbox is required, but none is chosen: set OPENAGENTIC_PROCESS_SANDBOX=bwrap " +
        "or OPENAGENTIC_SANDBOX_BACKEND",
    );
  }
  return { config, said, input, path: env.PATH };
}

/**
 * Reads the contract's variables from `env` (see docs/sandboxing/configuration.md) and returns the process sandbox and the
 * runner that they select, tested by running them on this host.
 *
 * If the selection is not available (not Linux, no bwrap, present but broken, an unknown value), `warn` is
 * called and the host continues without a sandbox; with OPENAGENTIC_PROCESS_SANDBOX_REQUIRED=1 or
 * OPENAGENTIC_SANDBOX_REQUIRED=1 it is an error.
 *
 * @throws (rejects) TypeError naming an invalid variable; {@link SandboxError} with `fix` if a required
 * sandbox is not available. Every message starts with `name`.
 *
 * @example
 * const sandbox = await sandboxFromEnv(process.env, { name: "demo-node", warn: console.warn });
 * const result = await sandbox.runner({ shadowDir }).exec({ argv: ["make", "test"] });
 */
export async function sandboxFromEnv(
  env: Variables,
  options: SandboxFromEnvOptions = {},
): Promise<SandboxFromEnv> {
  if (typeof env !== "object" || env === null) throw invalidType("env", "an object", env);
  expectFields(options, "options", kOptions);
  const { name = "native-runner", config: input = {} } = options;
  const prefix = `${name}: `;
  const warn =
    options.warn ??
    ((message) => {
      process.emitWarning(message, { type: "SandboxWarning", code: "OPENAGENTIC_PROCESS_SANDBOX" });
    });

  let selection: Selection;
  try {
    selection = readSelection(env, input);
  } catch (error) {
    throw invalidValue(prefix + (error instanceof Error ? error.message : String(error)), error);
  }
  for (const warning of selection.said.warnings) warn(prefix + warning);

  const native = new ConfiguredRuntime(kKinds.native, selection.config);
  let found: Found = { name: "native", runtime: native, processSandbox: undefined };
  if (selection.config.runtimeType !== "native") {
    const selected = await select(selection, prefix);
    if ("runtime" in selected) found = selected;
    else if (selection.said.required) throw selected.error();
    else warn(prefix + selected.warning);
  }
  const { runtime } = found;
  return {
    ...found,
    isConfined: found.name !== "native",
    runner: (runnerOptions) => runtime.runner(runnerOptions),
  };
}

/** Finds the sandbox of a selection and tests it, or reports why it is not available. */

/** Why no sandbox could be selected: a warning, or an error if a sandbox is required. */
type Unavailable = { warning: string; error: () => Error };

/** The requested sandbox. */
type Selection = {
  config: RuntimeConfig;
  said: RuntimeEnvironment;
  input: RuntimeConfigInput;
  path: string | undefined;
};

/** The sandbox that was found. */
type Found = {
  name: RuntimeName;
  runtime: Runtime;
  processSandbox: ProcessSandbox | undefined;
};

function linuxOnly(type: RuntimeConfig["runtimeType"]): string {
  const what = type === "auto" ? "the sandbox" : kKinds[type as RuntimeName].title;
  return `${what} is Linux-only`;
}

function without(type: RuntimeConfig["runtimeType"]): string {
  return `continuing without ${type === "bubblewrap" ? "process sandbox" : "a sandbox"}`;
}

function unavailable(message: string, fix: string): SandboxError {
  return new SandboxError(message, { code: "ERR_SANDBOX_UNAVAILABLE", fix });
}

const kByDomain = "with a network by domain";

/** Tries one runtime in the way that the host will use it. */
async function tryRuntime(name: RuntimeName, selection: Selection): Promise<Found | RuntimeStep> {
  const { config, said, input } = selection;
  const runtime = new ConfiguredRuntime(kKinds[name], config);
  const { available, reason, fix, cause } = await runtime.isAvailable();
  const because = { ...(reason ? { reason } : {}), ...(fix ? { fix } : {}) };
  if (!available) return withCause({ name, available, ...because }, cause);
  if (name !== "bubblewrap") return { name, runtime, processSandbox: cannotWrap(name) };
  const network =
    said.bubblewrap.network ?? said.network ?? input.bubblewrap?.network ?? input.network;
  const byDomain = said.allowHosts !== undefined || typeof network === "object";
  if (byDomain) return { name, runtime, processSandbox: cannotWrap(name, kByDomain) };
  const processSandbox = processSandboxOf(config, network);
  const broken = await whyWrapFails(processSandbox);
  if (broken !== undefined) return { name, available: false, reason: broken };
  return { name, runtime, processSandbox };
}

/** Returns the requested sandbox, or why it is not available. */
async function select(selection: Selection, prefix: string): Promise<Found | Unavailable> {
  const { runtimeType } = selection.config;
  const withoutSandbox = (message: string, fix: string): Unavailable => ({
    warning: `${message}; ${without(runtimeType)}`,
    error: () => unavailable(prefix + message, fix),
  });
  if (process.platform !== "linux") {
    return withoutSandbox(linuxOnly(runtimeType), "use Linux, a container, or WSL 2 on Windows");
  }
  const { config } = selection;
  const { bwrapPath } = config.bubblewrap;
  const bwrap = findBwrap(bwrapPath, selection.path);
  const notFound = `bwrap not found in PATH (${bwrapPath})`;
  if (bwrap === null && runtimeType === "bubblewrap") {
    return {
      warning: `bwrap not found (${bwrapPath}); ${without(runtimeType)}`,
      error: () => unavailable(prefix + notFound, installBwrap()),
    };
  }
  const found = {
    ...selection,
    config: { ...config, bubblewrap: { ...config.bubblewrap, bwrapPath: bwrap ?? bwrapPath } },
  };
  const steps: RuntimeStep[] = [];
  for (const name of runtimeType === "auto" ? kConfiningNames : [runtimeType]) {
    const isMissing = name === "bubblewrap" && bwrap === null;
    const tried = isMissing
      ? { name, available: false, reason: notFound, fix: installBwrap() }
      : await tryRuntime(name, found);
    if ("runtime" in tried) return tried;
    steps.push(tried);
  }
  const what =
    runtimeType === "auto" ? "no sandbox works here" : `${runtimeType} does not work here`;
  const reasons = steps.map(({ name, reason }) => `${name}: ${reason ?? "not available"}`);
  return {
    warning: `${what} (${reasons.join("; ")}); ${without(runtimeType)}`,
    error: () => new RuntimeUnavailableError(prefix + what, steps),
  };
}

/** Creates the process sandbox of a configuration, and tests it. */

const kTimeoutMs = 15_000;

/** Returns the configured sandbox; of the default binds, only those that exist on this host. */
function processSandboxOf(
  { bubblewrap }: RuntimeConfig,
  network: NetworkMode | undefined,
): ProcessSandbox {
  const { bwrapPath, isolation } = bubblewrap;
  const named = unlessDefault(bubblewrap.roBinds, kDefaultRuntimeBinds);
  const roBinds = named ?? kDefaultRoBinds.filter((path) => existsSync(path));
  return createBubblewrapProcessSandbox({ bwrapPath, isolation, network, roBinds });
}

/**
 * Returns a placeholder for a runtime that only has runners. @param under the reason that it can't wrap, as a
 * clause.
 */
function cannotWrap(name: RuntimeName, under = ""): ProcessSandbox {
  return {
    name,
    wrap() {
      const what = `${name} can't wrap a process that the host starts itself`;
      throw new SandboxError(under === "" ? what : `${what} ${under}`, {
        code: "ERR_SANDBOX_UNAVAILABLE",
        fix: `run it with the runner, or ${under === "" ? "select bubblewrap" : "allow or deny all"}`,
      });
    },
  };
}

/** Starts a shell in the sandbox; returns undefined on success, otherwise the reason. */
async function whyWrapFails(sandbox: ProcessSandbox): Promise<string | undefined> {
  const folder = await mkdtemp(join(await realpath(tmpdir()), "native-runner-"));
  try {
    const { cmd, args } = sandbox.wrap({
      cmd: "/bin/sh",
      args: ["-c", "exit 0"],
      env: {},
      mounts: [
        {
          kind: "dir",
          label: "shadow-workspace",
          hostPath: folder,
          guestPath: "/workspace",
          mode: "rw",
        },
      ],
    });
    const { exitCode, outcome, stderr } = await new LocalNativeRunner({
      shadowDir: folder,
      envPolicy: "clean",
    }).exec({ argv: [cmd, ...args], limits: { timeoutMs: kTimeoutMs } });
    if (outcome.kind === "exited" && exitCode === 0) return undefined;
    const said = new TextDecoder().decode(stderr).trim().split("\n").at(-1);
    return said || `a test process did not run to its end (${outcome.kind}, ${exitCode})`;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Returns the path of bwrap: on `searchPath`, otherwise on the PATH of this process; null if it is not found.
 * A missing addon is not reported here: the next call to it reports that.
 */
function findBwrap(bwrapPath: string, searchPath: string | undefined): string | null {
  try {
    return loadAddon().findProgram(bwrapPath, searchPath);
  } catch {
    return bwrapPath;
  }
}

/** Returns the command that installs Bubblewrap on this host. */
function installBwrap(): string {
  return installCommand(readHostFacts().distribution, "bubblewrap");
}
