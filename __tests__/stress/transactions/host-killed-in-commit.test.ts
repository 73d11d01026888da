/**
 * A host that is killed at any moment of a commit, or of its undo: the workspace is then exactly what
 * it was, or exactly what it was to be. NATIVE_RUNNER_MOMENTS says how many moments, NATIVE_RUNNER_SEED
 * which.
 */

import { once } from "node:events";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";

import { BubblewrapNativeRunner } from "../../integration/support/package.js";
import { describeSandboxed } from "../../integration/support/requirements.js";
import { run } from "../../integration/support/results.js";
import { tempDirectory } from "../../integration/support/temp.js";
import { stateDirectory } from "../../integration/support/transactions.js";
import { manifestOf } from "../../integration/transaction/hostile/compare-trees.js";
import { changedCopy, copyOf } from "../../integration/transaction/tree-scripts.js";
import { startProgram } from "./host-processes.js";
import { randomOf, seedOf } from "./random.js";

const kMoments = Number(process.env.NATIVE_RUNNER_MOMENTS ?? 30);
const kLanes = 3;
/**
 * A death between the end of an undo and the note of what the host has then makes conflicts of all that
 * was undone: told too much. To be true once that is noted before the journal is forgotten.
 */
const kKillsUndo = true;
const kFiles = 150;
const kScript = `for f in file*; do echo mine > $f; done; rm file7 file8; mkdir made; echo x > made/x
  rm -r gone; rm turned; mkdir turned; echo y > turned/y; chmod 700 kept; ln -s made link`;

function workspaceOfMany(): string {
  const workspace = tempDirectory();
  for (let i = 0; i < kFiles; i += 1) writeFileSync(join(workspace, `file${i}`), `host ${i}`);
  for (const name of ["gone", "kept"]) {
    const made = join(workspace, name);
    mkdirSync(made);
    for (let i = 0; i < 10; i += 1) writeFileSync(join(made, `in${i}`), "host");
  }
  writeFileSync(join(workspace, "turned"), "host");
  return workspace;
}

/** Says that it begins, and how long it took. */
const kCommit = `
  const runner = new api.BubblewrapNativeRunner({ shadowDir: given.workspace, prewarm: 0 });
  const transaction = await runner.resumeTransaction(given.id, { directory: given.state });
  process.stdout.write("now");
  const from = performance.now();
  await transaction[given.call]();
  process.stdout.write(" " + (performance.now() - from));
  await transaction.close();`;

describeSandboxed("a host that is killed", () => {
  const seed = seedOf();
  const counts = { before: 0, after: 0, "rolled-back": 0, completed: 0 };

  /** One lane: a workspace and a transaction that is committed, undone, and killed in both. */
  async function lane(index: number): Promise<void> {
    const random = randomOf(seed + index);
    const workspace = workspaceOfMany();
    const before = manifestOf(workspace);
    const after = manifestOf(await changedCopy(workspace, kScript));
    expect(after).not.toEqual(before);
    const state = stateDirectory();
    const runner = new BubblewrapNativeRunner({ shadowDir: workspace, prewarm: 0 });
    const transaction = await runner.openTransaction({ directory: state });
    const { id } = transaction;
    await run(transaction, kScript);
    await transaction.changes();
    await transaction.close();
    const untouched = copyOf(workspace);

    let isCommitted = false;
    // How long a call takes: the first is let go to its end.
    let longest = 0;
    for (let moment = -2; moment < kMoments / kLanes; ) {
      const call = isCommitted ? "undo" : "commit";
      const isKilled = moment >= 0 && (call === "commit" || kKillsUndo);
      const program = startProgram(kCommit, { workspace, state, id, call });
      await once(program.process.stdout as NodeJS.ReadableStream, "data");
      if (isKilled) {
        await setTimeout(random() * longest * 1.1);
        program.process.kill("SIGKILL");
      }
      if (isKilled || moment < 0) moment += 1;
      const { out, err } = await program.ended;
      if (!isKilled) longest = Math.max(longest, Number(out.split(" ")[1]));
      const reported = `seed ${seed}, lane ${index}, moment ${moment}, ${call}: ${err}`;
      const resumed = await runner.resumeTransaction(id, { directory: state });
      const seen = manifestOf(workspace);
      isCommitted = (await resumed.changes()).length === 0;
      expect(seen, reported).toEqual(isCommitted ? after : before);
      expect(resumed.recovered, reported).not.toBe("torn");
      counts[isCommitted ? "after" : "before"] += 1;
      if (resumed.recovered) counts[resumed.recovered as "completed"] += 1;
      expect(
        (await resumed.changes()).filter(({ conflict }) => conflict),
        reported,
      ).toEqual([]);
      await resumed.close();
    }
    const last = await runner.resumeTransaction(id, { directory: state });
    if (isCommitted) await last.undo();
    expect(manifestOf(workspace)).toEqual(before);
    expect(manifestOf(untouched)).toEqual(before);
    await last.discard();
    expect(readdirSync(state)).toEqual([]);
  }

  test(`at ${kMoments} moments of a commit and its undo (seed ${seed})`, async () => {
    await Promise.all(Array.from({ length: kLanes }, (_, index) => lane(index)));
    process.stdout.write(`killed at ${kMoments} moments: ${JSON.stringify(counts)}\n`);
    expect(counts["rolled-back"] + counts.completed).toBeGreaterThan(0);
    expect(counts.before).toBeGreaterThan(0);
    expect(counts.after).toBeGreaterThan(0);
  });
});
