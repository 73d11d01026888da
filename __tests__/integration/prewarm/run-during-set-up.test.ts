// As root too: what is prewarmed belongs to root.
/**
 * A run may take a sandbox that is still setting up: its input and its output go on from there, whatever
 * their size. The bwrap is a slow one, so that the moment is not missed.
 */

import { chmodSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { eventually } from "../../support/waits.js";
import {
  BubblewrapNativeRunner,
  type NativeExecInput,
  type SandboxedExecResult,
} from "../support/package.js";
import { describeSandboxed } from "../support/requirements.js";
import { see } from "../support/results.js";
import { tempDirectory } from "../support/temp.js";

/** A bwrap that leaves `begun` when it is called for a sandbox, and goes on when `goOn` is there. */
function slowBwrap() {
  const tools = tempDirectory("tools");
  const path = join(tools, "bwrap");
  const begun = join(tools, "begun");
  const goOn = join(tools, "go-on");
  const script = `#!/bin/sh
export PATH=/usr/local/bin:/usr/bin:/bin
if [ "$1" = --help ]; then exec bwrap --help; fi
echo > ${begun}
until [ -e ${goOn} ]; do sleep 0.01; done
exec bwrap "$@"
`;
  writeFileSync(path, script);
  chmodSync(path, 0o755);
  return { path, begun, goOn };
}

/** Runs `input` in a sandbox whose set-up is under way when the run comes to it, and is let go on then. */
async function inSetUp(prewarm: 0 | 1, input: NativeExecInput): Promise<SandboxedExecResult> {
  const { path, begun, goOn } = slowBwrap();
  const runner = new BubblewrapNativeRunner({
    shadowDir: tempDirectory(),
    bwrapPath: path,
    prewarm,
    clone: "never", // warm() would have its template made first
  });
  const isBegun = () => existsSync(begun);
  const warm = prewarm === 1 ? runner.warm() : undefined;
  if (warm !== undefined) await eventually("the set-up has begun", isBegun);
  const running = runner.exec(input);
  if (warm === undefined) await eventually("the set-up has begun", isBegun);
  else await eventually("the run has taken it", () => runner.pool().taken === 1);
  writeFileSync(goOn, "");
  const result = await running;
  await warm;
  expect(result.audits[0]?.prewarmed).toBe(prewarm === 1);
  await runner.close();
  return result;
}

const kManyBytes = Buffer.alloc(3 << 20, "0123456789abcdef\n"); // more than any pipe holds
const limits = { maxStdoutBytes: kManyBytes.length };

const kSandboxes: [string, 0 | 1][] = [
  ["a new sandbox", 0],
  ["a sandbox that was made ahead", 1],
];

describeSandboxed("a run in a sandbox that is still setting up", () => {
  test.each(kSandboxes)("has all of its input: %s", async (_, prewarm) => {
    const seen = see(await inSetUp(prewarm, { argv: ["wc", "-c"], stdin: kManyBytes }));
    expect(seen).toMatchObject({ kind: "exited", out: String(kManyBytes.length) });
  });

  test.each(kSandboxes)("has all of its output: %s", async (_, prewarm) => {
    const result = await inSetUp(prewarm, { argv: ["cat"], stdin: kManyBytes, limits });
    expect(Buffer.compare(result.stdout, kManyBytes)).toBe(0);
    expect(result).toMatchObject({ stdoutBytes: kManyBytes.length, truncatedStdout: false });
  });

  test.each(kSandboxes)("streams, and can be aborted: %s", async (_, prewarm) => {
    const controller = new AbortController();
    const { signal } = controller;
    const argv = ["sh", "-c", "cat; echo on stderr >&2; sleep 1000"];
    let streamed = 0;
    const onStdout = (chunk: Uint8Array) => {
      streamed += chunk.length;
    };
    const onStderr = () => controller.abort();
    const input = { argv, stdin: kManyBytes, limits, signal, onStdout, onStderr };
    const seen = see(await inSetUp(prewarm, input));
    expect(seen).toMatchObject({ kind: "aborted", exitCode: 130, err: "on stderr" });
    expect(streamed).toBe(kManyBytes.length);
  });
});
