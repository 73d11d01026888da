/**
 * Node as a program that starts others is given it. A sanitizer's runtime is for Node alone: shells
 * do not start with ThreadSanitizer's. See scripts/lib/sanitizer.mjs.
 */

/** Node's program, where the tests run in another engine too (scripts/platforms/engines.mjs). */
export const kNodeProgram = process.env.NATIVE_RUNNER_TEST_NODE ?? process.execPath;

const runtime = (process.env.NATIVE_RUNNER_TEST_NODE_ENV ?? "").split("\n").filter(Boolean);

/** The words that start Node behind those of a wrapper; that is started with plainEnvironment(). */
export const kNodeInside: readonly string[] =
  runtime.length === 0 ? [kNodeProgram] : ["/usr/bin/env", ...runtime, kNodeProgram];
