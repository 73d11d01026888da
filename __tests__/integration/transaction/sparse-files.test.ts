/** A large file that is nearly all hole costs a transaction what it holds, and long looks can be stopped. */

import { spawn } from "node:child_process";
import { closeSync, openSync, statSync, truncateSync, writeSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { kHungMs } from "../../support/waits.js";
import { kNodeInside } from "../support/node-arguments.js";
import { plainEnvironment } from "../support/requirements.js";
import { run } from "../support/results.js";
import { tempDirectory } from "../support/temp.js";
import { describeBackends, stateDirectory } from "../support/transactions.js";

const kSize = 300 * 2 ** 30;
const kDist = new URL("../../../dist/index.js", import.meta.url).href;

/** One block in the middle of nothing. */
function sparse(path: string): void {
  const file = openSync(path, "w");
  try {
    writeSync(file, "middle", kSize / 2);
  } finally {
    closeSync(file);
  }
  truncateSync(path, kSize);
}

describeBackends("a file of 300 GiB with holes", (open, backend) => {
  test("is compared, renamed and committed by what it holds", async () => {
    const workspace = tempDirectory();
    sparse(join(workspace, "large"));
    const { transaction } = await open(workspace);
    await run(transaction, ["touch", "large"]);
    expect(await transaction.changes()).toEqual([]);
    await run(transaction, [
      "sh",
      "-c",
      "printf x | dd of=large bs=1 seek=7 conv=notrunc status=none",
    ]);
    // The positive control: one byte in a hole is a change.
    expect((await transaction.changes()).map(({ path }) => path)).toEqual(["large"]);
    await transaction.commit({ paths: ["large"] });
    const { size, blocks } = statSync(join(workspace, "large"));
    expect(size).toBe(kSize);
    expect(blocks).toBeLessThan(10_000);
    await run(transaction, ["mv", "large", "moved"]);
    expect(await transaction.changes()).toMatchObject([{ kind: "renamed", from: "large" }]);
    await transaction.discard();
  });

  test("close() and process.exit() while its changes are looked for wait for neither", async () => {
    const workspace = tempDirectory();
    const source = `
      const { BubblewrapNativeRunner } = await import(${JSON.stringify(kDist)});
      const runner = new BubblewrapNativeRunner({ shadowDir: ${JSON.stringify(workspace)}, prewarm: 0 });
      const transaction = await runner.openTransaction({
        directory: ${JSON.stringify(stateDirectory())}, backend: ${JSON.stringify(backend)}, maxBytes: 2 ** 40 });
      await transaction.exec({ argv: ["touch", "large"] });
      transaction.changes().catch(() => {});
      const closed = process.argv.includes("close") ? transaction.close() : undefined;
      await closed;
      process.exit(7);`;
    sparse(join(workspace, "large"));
    for (const how of ["close", "exit"]) {
      const [program = "", ...words] = [...kNodeInside, "--input-type=module", "-e", source, how];
      const child = spawn(program, words, {
        env: plainEnvironment(),
        stdio: ["ignore", "ignore", "inherit"],
        timeout: kHungMs,
      });
      const code = await new Promise((settle) => child.once("exit", (code) => settle(code)));
      expect(code, how).toBe(7);
    }
  });
});
