/** What of a batch runs, and what does not even start. */

import { readdirSync } from "node:fs";
import { expect, test } from "vitest";

import { describeUnless } from "./support/gate.js";
import { kLiveRunners } from "./support/live.js";
import { BubblewrapNativeRunner, LandlockNativeRunner } from "./support/package.js";
import { tempDirectory } from "./support/temp.js";

const kRounds = 10; // what starts at once is not seen in every one

for (const [name, reason, makeRunner] of kLiveRunners) {
  if (name !== "bubblewrap" && name !== "landlock") continue;
  const make = (workspace: string) => {
    const runner = makeRunner(workspace);
    if (runner instanceof BubblewrapNativeRunner || runner instanceof LandlockNativeRunner) {
      return runner;
    }
    throw new Error(`${name} has no batches`);
  };
  const touches = (file: string, exitCode: number) => [
    "sh",
    "-c",
    `echo $0; : > "$0"; exit ${exitCode}`,
    file,
  ];

  describeUnless(reason, `execBatch, ${name}`, () => {
    test("runs all, or with stopOnError nothing after the first that fails", async () => {
      const workspace = tempDirectory();
      const runner = make(workspace);
      for (let round = 0; round < kRounds; round += 1) {
        const file = (text: string) => `${text}-${round}`;
        const commands = [touches(file("a"), 0), touches(file("b"), 3), touches(file("c"), 0)];
        const all = await runner.execBatch(commands);
        expect(all.map(({ exitCode }) => exitCode)).toEqual([0, 3, 0]);
        const stopped = await runner.execBatch(
          [touches(file("d"), 0), touches(file("e"), 3), touches(file("f"), 0)],
          { stopOnError: true },
        );
        expect(stopped.map(({ exitCode }) => exitCode)).toEqual([0, 3, 130]);
        expect(stopped[2]).toMatchObject({ outcome: { kind: "aborted" }, stdoutBytes: 0 });
        const ran = readdirSync(workspace).filter((each) => each.endsWith(`-${round}`));
        expect(ran.sort()).toEqual(["a", "b", "c", "d", "e"].map(file));
      }
    });

    test("whose signal was aborted before runs nothing", async () => {
      const workspace = tempDirectory();
      const signal = AbortSignal.abort();
      const results = await make(workspace).execBatch([touches("a", 0), touches("b", 0)], {
        signal,
      });
      expect(results.map(({ outcome }) => outcome.kind)).toEqual(["aborted", "aborted"]);
      expect(readdirSync(workspace)).toEqual([]);
    });
  });
}
