/**
 * Node as a program that starts others is given it. A sanitizer's runtime is for Node alone: shells
 * do not start with ThreadSanitizer's. See scripts/lib/sanitizer.mjs.
 */

const runtime = (process.env.NATIVE_RUNNER_TEST_NODE_ENV ?? "").split("\n").filter(Boolean);

/** The words that start Node behind those of a wrapper; that is started with plainEnvironment(). */
export const kNodeInside: readonly string[] =
  runtime.length === 0 ? [process.execPath] : ["/usr/bin/env", ...runtime, process.execPath];
