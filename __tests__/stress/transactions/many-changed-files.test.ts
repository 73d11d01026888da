/**
 * A command that makes as many files as it can: they are told, shown, committed and taken back in
 * bounded memory, and the event loop goes on. NATIVE_RUNNER_FILES says how many.
 */

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { expect, test } from "vitest";

import { describeSandboxed } from "../../integration/support/requirements.js";
import { run } from "../../integration/support/results.js";
import { tempDirectory } from "../../integration/support/temp.js";
import { openTransaction } from "../../integration/support/transactions.js";

const kFiles = Number(process.env.NATIVE_RUNNER_FILES ?? 20_000);
/** Of a change, its path and what is known of both sides, in native code and in JavaScript. */
const kMostBytesEach = 4096;
const kFixedBytes = 128 * 2 ** 20;

describeSandboxed("a command that makes many files", () => {
  test(`${kFiles} of them`, async () => {
    const workspace = tempDirectory();
    const { transaction } = await openTransaction(workspace);
    const script = `
      i=0
      while [ $i -lt 100 ]; do mkdir d$i; i=$((i+1)); done
      seq 0 ${kFiles - 1} | awk '{ f = "d" ($1 % 100) "/f" $1; print $1 > f; close(f) }'`;
    expect(await run(transaction, script)).toMatchObject({ exitCode: 0, err: "" });
    const before = process.memoryUsage.rss();
    const loop = monitorEventLoopDelay({ resolution: 10 });
    loop.enable();
    expect(await transaction.changes()).toHaveLength(kFiles + 100);
    await expect(transaction.diff({ maxBytes: 2 ** 20 })).rejects.toThrow(
      "more than 1048576 bytes",
    );
    const diff = await transaction.diff({ maxBytes: 64 * 2 ** 20 });
    expect(diff.match(/^diff --git/gm)).toHaveLength(kFiles);
    const { committed } = await transaction.commit();
    expect(committed).toHaveLength(kFiles + 100);
    for (let at = 0; at < 100; at += 1) {
      expect(readdirSync(join(workspace, `d${at}`))).toHaveLength(kFiles / 100);
    }
    await transaction.undo();
    loop.disable();
    expect(readdirSync(workspace)).toEqual([]);
    const grown = process.memoryUsage.rss() - before;
    process.stdout.write(
      `${kFiles} files: ${Math.round(grown / 2 ** 20)} MiB more, ` +
        `loop delay p99 ${(loop.percentile(99) / 1e6).toFixed(1)} ms\n`,
    );
    expect(grown).toBeLessThan(kFixedBytes + kFiles * kMostBytesEach);
    await transaction.discard();
  }, 600_000);
});
