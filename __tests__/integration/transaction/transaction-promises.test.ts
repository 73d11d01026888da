/**
 * What a sandbox promises, it promises in a transaction: the whole table for a run as it comes, and
 * for each other way of running what could be another there. The stress suite has the whole table for
 * each of them.
 */

import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

import { describePromises } from "../promises/promise-table.js";
import { BubblewrapNativeRunner } from "../support/package.js";
import { describeSandboxed } from "../support/requirements.js";
import { run, see } from "../support/results.js";
import { openTransaction, project, treeOf } from "../support/transactions.js";
import { kWays, TransactionRunner } from "./ways-to-run.js";

/** What is changed in each transaction: what is made in one shows there alone. */
const kUppers: string[] = [];

describePromises(
  "bubblewrap",
  (options) =>
    new TransactionRunner(options, kWays.cold as (typeof kWays)[string], ({ id }, directory) => {
      kUppers.push(join(directory, id, "upper"));
    }),
  (_, body) => describeSandboxed("in a transaction", body),
  // The overlay's socket is another than the host's.
  ["reaches a socket that the host keeps in the workspace"],
  (_, path) => kUppers.some((upper) => existsSync(join(upper, path))),
);

describeSandboxed("in a transaction, each way of running", () => {
  describe.each(Object.entries(kWays))("%s", (_, way) => {
    test("changes the transaction, and nothing of the host's", async () => {
      const workspace = project();
      const before = treeOf(workspace);
      const { transaction } = await openTransaction(workspace, way.runner);
      const script = "echo mine > a.txt; rm gone.txt; mkdir made; echo x > made/x; cat a.txt";
      const seen = see(await way.exec(transaction, { argv: ["sh", "-c", script] }));
      expect(seen).toMatchObject({ out: "mine", err: "", exitCode: 0 });
      expect(treeOf(workspace)).toEqual(before);
      const changes = (await transaction.changes()).map(({ kind, path }) => `${kind} ${path}`);
      expect(changes).toEqual(["modified a.txt", "deleted gone.txt", "added made", "added made/x"]);
      await transaction.discard();
      expect(treeOf(workspace)).toEqual(before);
    });

    test("has all layers of a run outside, and the transaction's", async () => {
      const workspace = project();
      const options = { shadowDir: workspace, prewarm: 0, ...way.runner };
      const plain = new BubblewrapNativeRunner(options);
      const { audits } = await way.exec(plain, { argv: ["true"] });
      const outside = audits[0]?.layers ?? [];
      expect(outside).toContain("seccomp");
      const required = ["seccomp", "transaction:overlay"];
      const { transaction } = await openTransaction(workspace, { ...way.runner, required });
      const result = await way.exec(transaction, { argv: ["true"] });
      expect(see(result)).toMatchObject({ kind: "exited", exitCode: 0 });
      const inside = new Set(result.audits[0]?.layers);
      const ofTransactions = ["transaction:overlay", "rename-directories"];
      expect(inside).toEqual(new Set([...outside, ...ofTransactions]));
      await transaction.discard();
      await plain.close();
    });

    test("shows no other transaction, and of its own place only where its home is", async () => {
      const { transaction, state, runner, workspace } = await openTransaction(
        project(),
        way.runner,
      );
      const other = await runner.openTransaction({ directory: state });
      await run(other, "echo secret > secret.txt");
      const script =
        "ls; cat secret.txt; cat /proc/self/mountinfo; ls /proc/1/root/workspace; ls /proc/1/cwd/";
      const { out } = see(await way.exec(transaction, { argv: ["sh", "-c", script] }));
      expect(out).toContain("a.txt");
      expect(out).not.toContain("secret");
      const home = join(state, transaction.id, "home"); // in the table of mounts
      expect(out.replaceAll(home, "")).not.toContain(state);
      expect(out).not.toContain(workspace);
      expect(readdirSync(join(state, other.id, "upper")), "the control").toEqual(["secret.txt"]);
      await other.discard();
      await transaction.discard();
    });
  });
});
