/** The sandbox that a selection asks for, proved to work, or why it can't be had. */

import type { ProcessSandbox } from "../../types/process-sandbox.js";
import { SandboxError } from "../errors.js";
import { withCause } from "../runtime/cause.js";
import type { RuntimeConfig, RuntimeConfigInput } from "../runtime/config/config.js";
import { ConfiguredRuntime } from "../runtime/configured-runtime.js";
import type { RuntimeEnvironment } from "../runtime/environment.js";
import { kKinds } from "../runtime/kinds/all.js";
import { kConfiningNames, type RuntimeName } from "../runtime/names.js";
import type { Runtime, RuntimeStep } from "../runtime/runtime.js";
import { RuntimeUnavailableError } from "../runtime/unavailable.js";
import { findBwrap, installBwrap } from "./find-bwrap.js";
import { cannotWrap, processSandboxOf, whyWrapFails } from "./selected.js";

/** Why nothing could be selected: a warning, or an error where a sandbox is required. */
export type Unavailable = { warning: string; error: () => Error };

/** What was asked for. */
export type Selection = {
  config: RuntimeConfig;
  said: RuntimeEnvironment;
  input: RuntimeConfigInput;
  path: string | undefined;
};

/** What confines. */
export type Found = {
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

/** Tries one runtime, in the way that the host will use it. */
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

/** What was asked for, or why it can't be had. */
export async function select(selection: Selection, prefix: string): Promise<Found | Unavailable> {
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
