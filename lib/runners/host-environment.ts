/** Which of the host's variables the addon can't see by itself. Pure but for what it reads of the process. */

import { types } from "node:util";
import { isMainThread } from "node:worker_threads";

import type { NativeContext } from "../../types/addon.js";

/**
 * Node's own process.env alone refuses a property that is not enumerable (ERR_INVALID_OBJECT_DEFINE_PROPERTY); another
 * object that a host or a test runner has put in its place takes it, and it is taken out again.
 */
function isNodesOwn(env: NodeJS.ProcessEnv): boolean {
  if (types.isProxy(env)) return false;
  const name = "OPENAGENTIC_NATIVE_RUNNER_PROBE";
  const property = { value: "", configurable: true, enumerable: false, writable: true };
  try {
    Object.defineProperty(env, name, property);
  } catch (error) {
    return (error as { code?: unknown }).code === "ERR_INVALID_OBJECT_DEFINE_PROPERTY";
  }
  delete env[name];
  return false;
}

/**
 * What is environ(7), which the addon reads: process.env in Node's main thread. A worker has a copy of its own, and in
 * Bun it is one everywhere: what is set, or deleted, there does not reach environ.
 */
const kEnviron =
  isMainThread && !("bun" in process.versions) && isNodesOwn(process.env) ? process.env : undefined;

/** @returns process.env as it is now, where that is not environ; its values as child_process would pass them. */
export function hostEnvironment(): Pick<NativeContext, "environment"> {
  const { env } = process;
  if (env === kEnviron) return {};
  const variables = Object.entries(env).filter(([, value]) => value !== undefined);
  return { environment: Object.fromEntries(variables.map(([name, value]) => [name, `${value}`])) };
}
