/** A transaction that was closed or discarded keeps no descriptor of the host's, also before the collector runs. */

import { mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { SandboxError } from "../support/package.js";
import { run } from "../support/results.js";
import { describeBackends, project } from "../support/transactions.js";

const kTransactions = 40;

/** What this process has open, as the kernel names it; sockets and pipes come and go with runs. */
function openFiles(): string[] {
  return readdirSync("/proc/self/fd").flatMap((name) => {
    try {
      const target = readlinkSync(`/proc/self/fd/${name}`);
      return /^(socket|pipe):/.test(target) ? [] : [target];
    } catch {
      return []; // the descriptor that readdir itself had
    }
  });
}

describeBackends("a transaction's descriptors", (open) => {
  test.each(["close", "discard"] as const)("%s() closes them", async (end) => {
    const workspace = project();
    mkdirSync(join(workspace, "below"));
    const first = await open(workspace);
    await run(first.transaction, ["sh", "-c", "echo new > new.txt"]);
    await first.transaction.changes();
    // The positive control: an open one has some, in its directory.
    expect(openFiles().filter((file) => file.includes(first.transaction.id))).not.toEqual([]);
    await first.transaction[end]();
    const before = openFiles().length;
    const opened = [first];
    for (let at = 1; at < kTransactions; at += 1) {
      const each = await open(workspace);
      opened.push(each);
      if (at % 10 === 0) {
        await run(each.transaction, ["true"]);
        await each.transaction.changes(); // begins to watch the host's directories
      }
      await each.transaction[end]();
    }
    const left = openFiles();
    expect(left.filter((file) => opened.some(({ state }) => file.includes(state)))).toEqual([]);
    expect(left.length - before).toBeLessThan(kTransactions / 4);
    // They are in use until here: no collector has closed anything.
    expect(opened).toHaveLength(kTransactions);
  });

  test("one that was closed can be resumed, and discarded by its old handle when nobody has it", async () => {
    const { runner, state, transaction } = await open(project());
    await run(transaction, ["sh", "-c", "echo new > new.txt"]);
    await transaction.close();
    const resumed = await runner.resumeTransaction(transaction.id, { directory: state });
    expect((await resumed.changes()).map(({ path }) => path)).toEqual(["new.txt"]);
    // Another handle has it now: the old one must not take it away.
    const refused = await transaction.discard().then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(refused).toBeInstanceOf(SandboxError);
    expect(String(refused)).toMatch(/is open already/);
    expect((await resumed.changes()).map(({ path }) => path)).toEqual(["new.txt"]);
    await resumed.close();
    await transaction.discard();
    expect(readdirSync(state)).toEqual([]);
  });

  test("discard() of a closed one whose directory was removed by hand resolves", async () => {
    const { state, transaction, workspace } = await open(project());
    await transaction.close();
    rmSync(join(state, transaction.id), { recursive: true, force: true });
    await transaction.discard();
    expect(readFileSync(join(workspace, "a.txt"), "utf8")).toBe("one\n");
  });
});
