// As root too: a session's commands are kept apart otherwise.
/** A bound of a session's /tmp that can't be had is refused: it is not left out without a word. */

import { expect, test } from "vitest";

import { BubblewrapNativeRunner, LandlockNativeRunner } from "../support/package.js";
import { describeUnless, whyNoOption } from "../support/requirements.js";
import { run } from "../support/results.js";
import { bwrapWithout, describeRuntime } from "../support/runtimes.js";
import { tempDirectory } from "../support/temp.js";

const kBound = { tmpBytes: 1024 ** 2 };
const kFill = "head -c 2000000 /dev/zero > /tmp/file; echo $?";

describeUnless(whyNoOption("--size"), "a bwrap without --size", () => {
  const runnerOf = (option: string) => {
    const bwrapPath = bwrapWithout(option);
    return new BubblewrapNativeRunner({ shadowDir: tempDirectory(), bwrapPath, prewarm: 0 });
  };

  test("opens no session, and no batch, whose /tmp was to be bounded", async () => {
    const refusal = {
      name: "SandboxError",
      code: "ERR_SANDBOX_UNAVAILABLE",
      message: expect.stringContaining("lacks --size, which tmpBytes needs"),
      fix: expect.stringContaining("leave tmpBytes out"),
    };
    const runner = runnerOf("--size");
    await expect(runner.openSession(kBound)).rejects.toMatchObject(refusal);
    await expect(runner.execBatch([["true"]], kBound)).rejects.toMatchObject(refusal);
    await using session = await runner.openSession();
    expect(await run(session, kFill), "the control").toMatchObject({ out: "0" });
  });

  test("but one that has it does", async () => {
    await using session = await runnerOf("--no-such-option").openSession(kBound);
    expect(await run(session, kFill)).toMatchObject({ out: "1" });
  });
});

describeRuntime("landlock", () => {
  test("opens none either: it has no /tmp of its own", async () => {
    const runner = new LandlockNativeRunner({ shadowDir: tempDirectory() });
    await expect(runner.openSession(kBound)).rejects.toMatchObject({
      name: "SandboxError",
      code: "ERR_SANDBOX_SETUP",
      message: expect.stringContaining("no private /tmp"),
    });
    await using session = await runner.openSession();
    expect(await run(session, "echo up"), "the control").toMatchObject({ out: "up" });
  });
});
