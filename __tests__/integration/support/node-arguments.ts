/**
 * Node as a program that starts others is given it. A sanitizer's runtime is for Node alone: shells
 * do not start with ThreadSanitizer's. See scripts/lib/sanitizer.mjs.
 */

/** Node's program, where the tests run in another engine too (scripts/platforms/engines.mjs). */
export const kNodeProgram = process.env.NATIVE_RUNNER_TEST_NODE ?? process.execPath;

const runtime = (process.env.NATIVE_RUNNER_TEST_NODE_ENV ?? "").split("\n").filter(Boolean);

const words = (program: string): readonly string[] =>
  runtime.length === 0 ? [program] : ["/usr/bin/env", ...runtime, program];

/** The words that start Node behind those of a wrapper; that is started with plainEnvironment(). */
export const kNodeInside = words(kNodeProgram);

/** Those that start it in a sandbox with the default binds: this machine's, where the tests run in another one. */
export const kNodeInSandbox = words(process.env.NATIVE_RUNNER_TEST_SYSTEM_NODE ?? kNodeProgram);
