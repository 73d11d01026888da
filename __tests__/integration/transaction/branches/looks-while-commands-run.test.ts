/** What is told of a transaction while its commands make, move and remove directories. */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import type { Transaction } from "../../support/package.js";
import { run } from "../../support/results.js";
import { describeBackends, project } from "../../support/transactions.js";

const kRounds = 40;
const kTexts = [0, 1, 2, 3, 4];

/** A project with directories of the host's, whose files say so. */
function hostsProject(): string {
  const root = project();
  for (const name of ["0", "1", "2", "3"]) {
    for (const parent of [join("hosts", name), join("hosts", name, "below")]) {
      mkdirSync(join(root, parent), { recursive: true });
      for (const text of kTexts) writeFileSync(join(root, parent, `${text}`), "host\n");
    }
  }
  return root;
}

/** Begins a loop over a number, `$n`, from 0 to 3; it ends with the file `stop`. */
async function begin(transaction: Transaction, script: string) {
  const loop = `i=0; while [ ! -e stop ]; do i=$((i+1)); n=$((i%4)); ${script}; done; echo ended`;
  const limits = { timeoutMs: Number.POSITIVE_INFINITY };
  const running = run(transaction, `touch begun; ${loop}`, { limits });
  await expect.poll(async () => (await run(transaction, "ls begun 2>&1")).out).toBe("begun");
  return async () => {
    await run(transaction, "touch stop");
    expect((await running).out).toBe("ended");
  };
}

describeBackends("while commands remove directories", (openTransaction) => {
  test("no look at a transaction fails for what has just gone", async () => {
    const { transaction, runner, state } = await openTransaction(hostsProject());
    const end = await begin(
      transaction,
      `mkdir -p own/$n/below hosts/$n; echo $i > own/$n/a; echo $i > hosts/$n/1; ln -sf a own/$n/link
      echo $i > own/$n/below/x; rm -rf moved; mv own/$n/below moved; mv own/$n/a own/$n/b
      rm -rf own/$(((i+2)%4)) hosts/$(((i+2)%4))`,
    );
    const other = await transaction.fork();
    for (let round = 0; round < kRounds; round += 1) {
      await transaction.changes({ details: true });
      await transaction.diff();
      await other.diff({ since: transaction });
      await transaction.changes({ sinceFork: other });
      await other.merge(transaction, { onConflict: "theirs" });
      await runner.transactions({ directory: state, sizes: true });
      const fork = await transaction.fork();
      await fork.diff();
      await fork.discard();
    }
    await end();
    const paths = (await transaction.changes()).map(({ path }) => path);
    expect(paths).toEqual(expect.arrayContaining(["begun", "stop"]));
    await runner.close();
  });

  test("what a mode shuts is left alone until it is asked for, and no change is missed", async () => {
    const workspace = hostsProject();
    const { transaction, runner } = await openTransaction(workspace);
    const shut = "for n in 0 1 2 3; do echo mine > hosts/$n/0; chmod 0 hosts/$n; done";
    await run(transaction, shut);
    await run(transaction, "echo mine > hosts-own");
    writeFileSync(join(workspace, "hosts/1/0"), "hers\n");
    const conflicts = (await transaction.changes()).filter(({ conflict }) => conflict);
    expect(conflicts.map(({ path }) => path)).toEqual(["hosts/1/0"]);
    const refused = { code: "ERR_TRANSACTION_CONFLICT" };
    await expect(transaction.commit()).rejects.toMatchObject(refused);
    await run(transaction, "chmod 755 hosts/*");
    const { committed } = await transaction.commit({ paths: ["hosts/0", "hosts/2"] });
    expect(committed.map(({ path }) => path)).toEqual(["hosts/0/0", "hosts/2/0"]);
    expect(readFileSync(join(workspace, "hosts/0/0"), "utf8")).toBe("mine\n");
    expect(readFileSync(join(workspace, "hosts/1/0"), "utf8")).toBe("hers\n");
    await runner.close();
  });

  test("a fork never shows the host's texts where each was replaced or removed", async () => {
    const { transaction, runner } = await openTransaction(hostsProject());
    const all = (parent: string) => kTexts.map((text) => `${parent}/${text}`).join(" ");
    const write = `for file in ${all("hosts/$n")} ${all("hosts/$n/below")}; do echo own > $file; done`;
    await run(transaction, `for n in 0 1 2 3; do ${write}; done`);
    const end = await begin(transaction, `rm -rf hosts/$n; mkdir -p hosts/$n/below; ${write}`);
    for (let round = 0; round < kRounds; round += 1) {
      const fork = await transaction.fork();
      expect((await run(fork, "grep -rl host hosts")).out).toBe("");
      await fork.discard();
    }
    await end();
    expect((await run(transaction, "grep -rl own hosts | wc -l")).out).toBe("40");
    await runner.close();
  });
});
