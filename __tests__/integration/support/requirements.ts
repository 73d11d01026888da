/**
 * What the tests need of the host. A suite that can't run says why, in the log and in the report;
 * where bwrap works, nothing is skipped.
 */

import { spawnSync } from "node:child_process";
import { describe, type TestContext, test } from "vitest";

export const isRoot = process.getuid?.() === 0;

/** This host's environment without the runtime of a sanitizer, which is for the addon alone. */
export function plainEnvironment(): NodeJS.ProcessEnv {
  const { LD_PRELOAD: _, ...others } = process.env;
  return others;
}

function whyNoSandbox(): string | undefined {
  if (process.platform !== "linux") return `bwrap needs Linux, this is ${process.platform}`;
  const flags = ["--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"];
  const tried = spawnSync("bwrap", [...flags, "true"], {
    encoding: "utf8",
    env: plainEnvironment(),
    timeout: 10_000,
  });
  if (tried.status === 0) return undefined;
  if (tried.error) return `bwrap can't be started: ${tried.error.message}`;
  return `bwrap does not work here: ${tried.stderr.trim() || `it ended with ${tried.status ?? tried.signal}`}`;
}

/** Why bwrap can't be used here; undefined when it can. */
export const whyNoBubblewrap = whyNoSandbox();

/** What can be asked of this bwrap, by its own list. */
const bwrapOptions = new Set(
  spawnSync("bwrap", ["--help"], { encoding: "utf8", env: plainEnvironment() })
    .stdout?.split("\n")
    .map((line) => line.trim().split(" ")[0]),
);

/** Why what needs an option of bwrap's can't be had; undefined where it can. */
export const whyNoOption = (option: string): string | undefined =>
  whyNoBubblewrap ?? (bwrapOptions.has(option) ? undefined : `this bwrap has no ${option}`);

/** Sandboxes made ahead, cloned ones and overlays: they are mounted by descriptor. */
export const whyNoBindFd = whyNoOption("--bind-fd");

/** `test`, or where there is a reason why it can't run here, one that is skipped and says so. */
export function testUnless(
  reason: string | undefined,
  name: string,
  body: () => void | Promise<void>,
  timeoutMs?: number,
): void {
  if (reason === undefined) {
    test(name, body, timeoutMs);
    return;
  }
  process.stderr.write(`skipped: ${name}: ${reason}\n`);
  test(name, (context: TestContext) => context.skip(reason));
}

/** The same for `describe`. */
export function describeUnless(reason: string | undefined, name: string, body: () => void): void {
  if (reason === undefined) {
    describe(name, body);
    return;
  }
  process.stderr.write(`skipped: ${name}: ${reason}\n`);
  describe(name, () => {
    test("can run here", (context: TestContext) => context.skip(reason));
  });
}

/** `describe` for tests that need a working bwrap. */
export function describeSandboxed(name: string, body: () => void): void {
  describeUnless(whyNoBubblewrap, name, body);
}
