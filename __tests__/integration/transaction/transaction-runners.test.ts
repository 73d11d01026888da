/** Runners whose commands work in a transaction that another has opened, each under its own policy. */

import { readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

import { eventually } from "../../support/waits.js";
import {
  BubblewrapNativeRunner,
  createRuntime,
  LandlockNativeRunner,
  LocalNativeRunner,
  type Transaction,
} from "../support/package.js";
import { kMarker, marked, newMark } from "../support/processes.js";
import { describeSandboxed, describeUnless } from "../support/requirements.js";
import { whyNo } from "../support/runtimes.js";
import { tempDirectory } from "../support/temp.js";
import { describeBackends, openTransaction, project, treeOf } from "../support/transactions.js";

type Options = { shadowDir: string; transaction?: Transaction };

const kRunners = [
  ["local", undefined, (options: Options) => new LocalNativeRunner(options), false],
  [
    "landlock",
    whyNo("landlock"),
    (options: Options) => new LandlockNativeRunner({ ...options, fsWriteDirs: ["/dev/null"] }),
    false,
  ],
  ["bubblewrap", undefined, (options: Options) => new BubblewrapNativeRunner(options), true],
] as const;

describe.each(kRunners)("%s in a transaction", (_, reason, make, isElsewhere) => {
  describeUnless(reason, "its commands", () => {
    describeBackends("in one", (open, backend) => {
      test("see the transaction's changes, make others, and leave the workspace alone", async () => {
        const { transaction, workspace, state } = await open(project());
        const before = treeOf(workspace);
        await transaction.exec({ argv: ["sh", "-c", "echo first > a.txt"] });
        const runner = make({ shadowDir: workspace, transaction });
        const seen = backend === "copy" ? join(state, transaction.id, "tree") : workspace;
        const script = "pwd; cat a.txt; echo second > b.txt; rm gone.txt";
        const result = await runner.exec({ argv: ["sh", "-c", script] });
        expect(result.stderrText).toBe("");
        expect(result.stdoutText).toBe(`${isElsewhere ? "/workspace" : seen}\nfirst\n`);
        expect(result.audits[0]?.layers).toContain(`transaction:${backend}`);
        expect(treeOf(workspace)).toEqual(before);
        const changes = await transaction.changes();
        expect(changes.map(({ path }) => path)).toEqual(["a.txt", "b.txt", "gone.txt"]);
        expect(await runner.files.readText("b.txt")).toBe("second\n");
        // The control: without the transaction the same command changes the workspace.
        await make({ shadowDir: workspace }).exec({ argv: ["sh", "-c", script] });
        expect(readFileSync(join(workspace, "b.txt"), "utf8")).toBe("second\n");
        await transaction.discard();
      });

      test("are no conflict with themselves, and one with the host", async () => {
        const { transaction, workspace } = await open(project());
        const runner = make({ shadowDir: workspace, transaction });
        await runner.exec({ argv: ["sh", "-c", "echo new > a.txt; echo new > b.txt"] });
        await transaction.changes();
        writeFileSync(join(workspace, "a.txt"), "host\n");
        await expect(transaction.commit()).rejects.toMatchObject({ paths: ["a.txt"] });
        await transaction.commit({ paths: ["b.txt"] });
        expect(readFileSync(join(workspace, "b.txt"), "utf8")).toBe("new\n");
        await transaction.discard();
      });

      test.each(["commit", "discard", "close"] as const)("are ended by %s", async (how) => {
        const { transaction, workspace } = await open(project());
        const runner = make({ shadowDir: workspace, transaction });
        const mark = newMark();
        const env = { [kMarker]: mark };
        const running = runner.exec({ argv: ["sh", "-c", "echo up > up; sleep 1000"], env });
        await eventually("it is up", async () =>
          (await transaction.changes()).some(({ path }) => path === "up"),
        );
        expect(marked(mark), "the control").not.toEqual([]);
        await transaction[how]();
        expect((await running).outcome.kind).toBe("aborted");
        expect(marked(mark)).toEqual([]);
        const before = treeOf(workspace);
        const later = await runner
          .exec({ argv: ["sh", "-c", "echo later > a.txt"] })
          .catch((error: unknown) => error);
        const runsOn = { exitCode: 0, outcome: { kind: "exited" } };
        const doesNot =
          later instanceof Error
            ? { code: "ERR_SANDBOX_CLOSED" }
            : { outcome: { kind: "setup-failed" } };
        expect(later).toMatchObject(how === "commit" ? runsOn : doesNot);
        expect(treeOf(workspace), "what comes later is of the transaction").toEqual(before);
        await transaction.discard();
      });
    });
  });
});

describeSandboxed("a transaction", () => {
  test("is of its own workspace only", async () => {
    const { transaction } = await openTransaction(project());
    const other = tempDirectory();
    const runner = new LocalNativeRunner({ shadowDir: other, transaction });
    const { outcome } = await runner.exec({ argv: ["touch", "made"] });
    expect(outcome).toMatchObject({
      kind: "setup-failed",
      reason: expect.stringContaining("replaced"),
    });
    expect(treeOf(other)).toEqual({});
    await transaction.discard();
  });

  describeUnless(whyNo("landlock"), "under Landlock", () => {
    test("is not kept where its commands may write", async () => {
      const { transaction, workspace, state } = await openTransaction(project());
      const run = async (fsWriteDirs: string[]) => {
        const runner = new LandlockNativeRunner({ shadowDir: workspace, transaction, fsWriteDirs });
        return (await runner.exec({ argv: ["true"] })).outcome;
      };
      for (const directory of [state, tmpdir(), join(state, transaction.id, "upper")]) {
        const reason = expect.stringContaining("where the transaction is kept");
        expect(await run([directory])).toMatchObject({ kind: "setup-failed", reason });
      }
      expect(await run([tempDirectory()])).toEqual({ kind: "exited" });
      await transaction.discard();
    });
  });

  test("is an option of a runtime's runners too, but of Firejail's", async () => {
    const { transaction, workspace } = await openTransaction(project());
    const native = await createRuntime({ runtimeType: "native" });
    const { stdoutText } = await native
      .runner({ shadowDir: workspace, transaction })
      .exec({ argv: ["sh", "-c", "echo new > a.txt; cat a.txt"] });
    expect(stdoutText).toBe("new\n");
    expect(readFileSync(join(workspace, "a.txt"), "utf8")).toBe("one\n");
    await transaction.discard();
  });
});
