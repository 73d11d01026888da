/** A command begins as at a terminal: with no signal ignored or blocked, the C library's own two among them. */

import { expect, test } from "vitest";

import {
  BubblewrapNativeRunner,
  LandlockNativeRunner,
  LocalNativeRunner,
} from "../support/package.js";
import { describeSandboxed, testUnless } from "../support/requirements.js";
import { whyNo } from "../support/runtimes.js";
import { tempDirectory } from "../support/temp.js";

const kShow = "grep -E '^Sig(Ign|Blk)' /proc/self/status";
const kNone = "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n";

describeSandboxed("signals at the start of a command", () => {
  for (const Runner of [BubblewrapNativeRunner, LandlockNativeRunner, LocalNativeRunner]) {
    const whyNot = Runner === LandlockNativeRunner ? whyNo("landlock") : undefined;
    testUnless(whyNot, `${Runner.name}: none is ignored or blocked`, async () => {
      const runner = new Runner({ shadowDir: tempDirectory() });
      const { stdoutText } = await runner.exec({
        argv: ["grep", "-E", "^Sig(Ign|Blk)", "/proc/self/status"],
      });
      expect(stdoutText).toBe(kNone);
    });
  }

  test("control: one that the command ignores shows", async () => {
    const runner = new BubblewrapNativeRunner({ shadowDir: tempDirectory() });
    const { stdoutText } = await runner.exec({ argv: ["sh", "-c", `trap '' HUP; ${kShow}`] });
    expect(stdoutText).toBe(kNone.replace(/0000\n$/, "0001\n"));
    await runner.close();
  });
});
