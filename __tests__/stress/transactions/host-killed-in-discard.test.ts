/**
 * A host that is killed at any moment of a `discard`: the transaction is then whole, or it is gone; the next one that is
 * opened removes what is left of it, and the workspace was never touched. NATIVE_RUNNER_MOMENTS says how many moments,
 * NATIVE_RUNNER_SEED which.
 */

import { once } from "node:events";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";

import { run } from "../../integration/support/results.js";
import { tempDirectory } from "../../integration/support/temp.js";
import { describeBackends } from "../../integration/support/transactions.js";
import { manifestOf } from "../../integration/transaction/hostile/compare-trees.js";
import { startProgram } from "./host-processes.js";
import { randomOf, seedOf } from "./random.js";

const kMoments = Number(process.env.NATIVE_RUNNER_MOMENTS ?? 12);
/** So many that removing them takes longer than a process takes to begin. */
const kScript =
  "for d in $(seq 40); do mkdir d$d; (cd d$d; seq 100 | xargs touch); done; echo mine > file";

const kDiscard = `
  const runner = new api.BubblewrapNativeRunner({ shadowDir: given.workspace, prewarm: 0 });
  const transaction = await runner.resumeTransaction(given.id, { directory: given.state });
  process.stdout.write("now");
  const from = performance.now();
  await transaction.discard();
  process.stdout.write(" " + (performance.now() - from));`;

describeBackends("a host that is killed while it discards", (open, backend) => {
  const seed = seedOf();

  test(`at ${kMoments} moments (${backend}, seed ${seed})`, async () => {
    const random = randomOf(seed);
    const counts = { whole: 0, begun: 0, done: 0 };
    let longest = 0;
    // The first is let go to its end, so that it is known how long one takes.
    for (let moment = -1; moment < kMoments; moment += 1) {
      const workspace = tempDirectory();
      writeFileSync(join(workspace, "file"), "host");
      const before = manifestOf(workspace);
      const { runner, state, transaction } = await open(workspace);
      await run(transaction, kScript);
      const { id } = transaction;
      const changed = await transaction.changes();
      expect(changed.length).toBeGreaterThan(4_000);
      await transaction.close();
      const program = startProgram(kDiscard, { workspace, state, id });
      await once(program.process.stdout as NodeJS.ReadableStream, "data");
      if (moment >= 0) {
        await setTimeout(random() * longest);
        program.process.kill("SIGKILL");
      }
      const { out, err } = await program.ended;
      if (moment < 0) longest = Number(out.split(" ")[1]);
      const reported = `seed ${seed}, moment ${moment}: ${err}`;
      expect(manifestOf(workspace), reported).toEqual(before);

      const listed = await runner.transactions({ directory: state });
      if (listed.length > 0) {
        counts.whole += 1;
        const resumed = await runner.resumeTransaction(id, { directory: state });
        expect(await resumed.changes(), reported).toEqual(changed);
        await resumed.discard();
      } else {
        counts[readdirSync(state).length > 0 ? "begun" : "done"] += 1;
        expect(existsSync(join(state, id)), reported).toBe(false);
        await expect(runner.resumeTransaction(id, { directory: state }), reported).rejects.toThrow(
          "there is no transaction",
        );
      }
      const next = await runner.openTransaction({ directory: state, backend });
      expect(readdirSync(state), reported).toEqual([next.id]);
      await next.discard();
      expect(readdirSync(state), reported).toEqual([]);
      expect(manifestOf(workspace), reported).toEqual(before);
      await runner.close();
    }
    process.stdout.write(`killed at ${kMoments} moments of a discard: ${JSON.stringify(counts)}\n`);
    expect(counts.begun).toBeGreaterThan(0);
  });
});
