/**
 * One bit of a file in which a transaction keeps its state is another one: what is called next does what it would have
 * done, or rejects and changes nothing. NATIVE_RUNNER_FLIPS says how many bits of each file, NATIVE_RUNNER_SEED which.
 */

import { lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import type { Transaction } from "../../integration/support/package.js";
import { run } from "../../integration/support/results.js";
import { tempDirectory } from "../../integration/support/temp.js";
import { describeBackends } from "../../integration/support/transactions.js";
import { manifestOf } from "../../integration/transaction/hostile/compare-trees.js";
import { changedCopy } from "../../integration/transaction/tree-scripts.js";
import { randomOf, seedOf } from "./random.js";

const kFlips = Number(process.env.NATIVE_RUNNER_FLIPS ?? 6);
const kScript = `echo mine > one; rm two; mkdir made; echo x > made/x; mv three four; chmod 700 dir
  ln -s made link; echo more >> dir/in`;
/** Files of commands and of the host, and not what the package has noted of them. */
const kContents = new Set(["upper", "work", "tree", "home", "aside"]);

function workspaceOfFew(): string {
  const workspace = tempDirectory();
  for (const name of ["one", "two", "three"])
    writeFileSync(join(workspace, name), `host ${name}\n`);
  mkdirSync(join(workspace, "dir"));
  writeFileSync(join(workspace, "dir", "in"), "host\n");
  return workspace;
}

/** The regular files that are not empty, by their path below the transaction's directory. */
function stateFiles(directory: string, below = ""): string[] {
  return readdirSync(join(directory, below)).flatMap((name) => {
    const path = join(below, name);
    const stat = lstatSync(join(directory, path));
    if (kContents.has(name)) return [];
    if (stat.isDirectory()) return stateFiles(directory, path);
    return stat.isFile() && stat.size > 0 ? [path] : [];
  });
}

/** A path without the numbers and ids in it, which are others in each transaction. */
const pattern = (path: string) => path.replaceAll(/[0-9a-f]{12,}/g, "ID");

async function rolledBack(transaction: Transaction): Promise<void> {
  const [first] = await transaction.checkpoints();
  if (first === undefined) throw new Error("there is no checkpoint");
  await transaction.rollback(first.id);
  await transaction.commit();
}

type Call = {
  name: string;
  /** Run behind the checkpoint. */
  later: string;
  isCommitted: boolean;
  call(transaction: Transaction): Promise<unknown>;
};
const kCalls: Call[] = [
  { name: "commit", later: ":", isCommitted: false, call: (transaction) => transaction.commit() },
  { name: "rollback", later: "rm -r one made", isCommitted: false, call: rolledBack },
  { name: "undo", later: ":", isCommitted: true, call: (transaction) => transaction.undo() },
];

describeBackends("state of a transaction with a bit that is another", (open, backend) => {
  const seed = seedOf();

  /** A transaction that is closed, with or without a commit; `after`: what a commit makes. */
  async function closed({ later, isCommitted }: Call) {
    const workspace = workspaceOfFew();
    const before = manifestOf(workspace);
    const after = manifestOf(await changedCopy(workspace, kScript));
    const { runner, state, transaction } = await open(workspace);
    await run(transaction, kScript);
    await transaction.checkpoint();
    await run(transaction, later);
    if (isCommitted) await transaction.commit();
    await transaction.close();
    return { workspace, before, after, runner, state, id: transaction.id };
  }

  test.each(kCalls)(
    `$name does what it would, or nothing (${backend}, seed ${seed})`,
    async (of) => {
      const random = randomOf(seed);
      const counts = { done: 0, refused: 0 };
      const first = await closed(of);
      const files = stateFiles(join(first.state, first.id)).map(pattern);
      expect(files).toContain("record");
      for (const file of files) {
        for (let flip = 0; flip < kFlips; flip += 1) {
          const { workspace, before, after, runner, state, id } = await closed(of);
          const own = stateFiles(join(state, id)).find((each) => pattern(each) === file);
          const path = join(state, id, own ?? "");
          const bytes = readFileSync(path);
          const at = Math.floor(random() * bytes.length);
          const bit = 1 << Math.floor(random() * 8);
          bytes[at] = (bytes[at] ?? 0) ^ bit;
          writeFileSync(path, bytes);
          const reported = `seed ${seed}: ${file}, byte ${at} of ${bytes.length}, bit ${bit}`;
          const [was, wanted] = of.isCommitted ? [after, before] : [before, after];
          try {
            const resumed = await runner.resumeTransaction(id, { directory: state });
            try {
              await of.call(resumed);
            } finally {
              await resumed.close();
            }
            counts.done += 1;
            expect(manifestOf(workspace), reported).toEqual(wanted);
          } catch (error) {
            if ((error as Error).name === "AssertionError") throw error;
            counts.refused += 1;
            expect(manifestOf(workspace), `${reported}: ${error}`).toEqual(was);
          }
          await runner.close();
        }
      }
      process.stdout.write(
        `${of.name} (${backend}) of ${files.join(", ")}: ${JSON.stringify(counts)}\n`,
      );
      expect(counts.done).toBeGreaterThan(0);
      expect(counts.refused).toBeGreaterThan(0);
    },
  );
});
