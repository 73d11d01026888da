/** The JavaScript engine that the tests, or the hosts that they start, run in; what it lacks of Node. */

import type { EngineName } from "./engines.js";

export const kEngine: EngineName | "Node.js" =
  (process.env.NATIVE_RUNNER_TEST_ENGINE as EngineName | undefined) ??
  ("bun" in process.versions ? "Bun" : "deno" in process.versions ? "Deno" : "Node.js");

/** For testUnless: why a test can't run in this engine, by engine; undefined where it can. */
export function whyNotHere(reasons: Partial<Record<EngineName, string>>): string | undefined {
  return kEngine === "Node.js" ? undefined : reasons[kEngine];
}

/** What is about Node itself, or about how it prints values. */
export const kNodeAlone = { Bun: "it is about Node.js", Deno: "it is about Node.js" };

/** For tests of what a worker leaves when it is ended. */
export const kEarly = {
  Deno: "worker.terminate() settles before the thread has ended, and its processes",
};

/** For tests of file names of any bytes that this process itself makes or reads. */
export const kUtf8Names = { Deno: "its node:fs makes and reads names of UTF-8 alone" };
