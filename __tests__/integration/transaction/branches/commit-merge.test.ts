/** A commit that merges what the host, by another transaction's commit for example, has changed meanwhile. */

import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";

import type { Transaction } from "../../support/package.js";
import { run } from "../../support/results.js";
import { tempDirectory } from "../../support/temp.js";
import { describeBackends, pastTick } from "../../support/transactions.js";
import { killedHost, linesOf } from "./branch-trees.js";

const kTwenty = linesOf(...Array.from({ length: 20 }, (_, at) => `line ${at + 1}`));

function twenty(): string {
  const workspace = tempDirectory();
  const files = { "text.txt": kTwenty, "other.txt": "other\n", "dir/in.txt": kTwenty };
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(workspace, name)), { recursive: true });
    writeFileSync(join(workspace, name), text);
  }
  writeFileSync(join(workspace, "binary"), Buffer.from([0, 1, 2, 3]));
  return workspace;
}

const kOurs = "sed -i 's/line 3$/ours/' text.txt";
const kTheirs = "sed -i 's/line 15$/theirs/' text.txt";
const kBoth = kTwenty.replace("line 3\n", "ours\n").replace("line 15\n", "theirs\n");

/** What this transaction does, and another one that commits first; then a script that holds on the host, or a conflict. */
type Case = {
  ours: string;
  theirs: string;
  holds?: string;
  conflict?: [path: string, reason: RegExp];
};

const kCases: Record<string, Case> = {
  "other lines of one text": {
    ours: kOurs,
    theirs: kTheirs,
    holds: "grep -q ours text.txt && grep -q theirs text.txt && [ $(wc -l < text.txt) = 20 ]",
  },
  "a text in a directory, and others that one side alone has changed": {
    ours: "sed -i 's/line 3$/ours/' dir/in.txt; echo 1 > dir/new",
    theirs: "sed -i 's/line 15$/theirs/' dir/in.txt; echo 2 > other.txt",
    holds:
      "grep -q ours dir/in.txt && grep -q theirs dir/in.txt && [ $(cat dir/new) = 1 ] && [ $(cat other.txt) = 2 ]",
  },
  "mode here, contents there": {
    ours: "chmod 755 text.txt",
    theirs: kTheirs,
    holds: "[ -x text.txt ] && grep -q theirs text.txt",
  },
  "contents here, mode there": {
    ours: kOurs,
    theirs: "chmod 755 text.txt",
    holds: "[ -x text.txt ] && grep -q ours text.txt",
  },
  "the same lines": {
    ours: "sed -i 's/line 3$/ours/' text.txt",
    theirs: "sed -i 's/line 3$/theirs/' text.txt",
    conflict: ["text.txt", /both have changed the lines from line 3 on/],
  },
  "deleted here, changed there": {
    ours: "rm text.txt",
    theirs: kTheirs,
    conflict: ["text.txt", /deleted here, changed on the host/],
  },
  "changed here, deleted there": {
    ours: kOurs,
    theirs: "rm text.txt",
    conflict: ["text.txt", /changed here, deleted on the host/],
  },
  "no text": {
    ours: "printf '\\0here' > binary",
    theirs: "printf '\\0there' > binary",
    conflict: ["binary", /it is no text/],
  },
  "another mode on each side": {
    ours: "chmod 700 text.txt",
    theirs: "chmod 755 text.txt",
    conflict: ["text.txt", /both have changed its mode/],
  },
  "a link in its place": {
    ours: kOurs,
    theirs: "rm text.txt; ln -s other.txt text.txt",
    conflict: ["text.txt", /of another type/],
  },
  "a new file on both sides": {
    ours: "echo ours > new",
    theirs: "echo theirs > new",
    conflict: ["new", /both have added it/],
  },
};

const textOf = (workspace: string, name = "text.txt") =>
  readFileSync(join(workspace, name), "utf8");

describeBackends("a commit that merges", (openTransaction) => {
  const opened = async (ours: string, theirs: string) => {
    const workspace = twenty();
    const { transaction, runner, state } = await openTransaction(workspace);
    const other = await transaction.fork();
    await run(transaction, ours);
    await run(other, theirs);
    return { workspace, transaction, other, runner, state };
  };

  for (const [name, { ours, theirs, holds, conflict }] of Object.entries(kCases)) {
    test(name, async () => {
      const { workspace, transaction, other, runner } = await opened(ours, theirs);
      await other.commit();
      const before = textOf(workspace, "other.txt");
      // The control: without `merge`, it is a conflict.
      await expect(transaction.commit()).rejects.toMatchObject({
        code: "ERR_TRANSACTION_CONFLICT",
        conflicts: expect.arrayContaining([
          expect.objectContaining({ conflict: true }),
        ]) as unknown[],
      });
      if (conflict) {
        const [path, reason] = conflict;
        await expect(transaction.commit({ merge: true })).rejects.toMatchObject({
          code: "ERR_TRANSACTION_CONFLICT",
          paths: [path],
          conflicts: [expect.objectContaining({ path })],
          reasons: [{ path, reason: expect.stringMatching(reason) as string }],
        });
        expect(textOf(workspace, "other.txt")).toBe(before);
      } else {
        const report = await transaction.commit({ merge: true });
        expect(report.left).toEqual([]);
        expect(report.audit.merged).toBe(report.merged?.length);
        execFileSync("sh", ["-c", holds ?? "false"], { cwd: workspace }); // throws where it does not
        expect(await transaction.changes()).toEqual([]);
      }
      await runner.close();
    });
  }

  test("brings the other one's back by an undo, and is there to be committed again", async () => {
    const { workspace, transaction, other, runner } = await opened(kOurs, kTheirs);
    await other.commit();
    await other.discard(); // what it has replaced is known nevertheless
    const theirs = textOf(workspace);
    const { merged } = await transaction.commit({ merge: true });
    expect(merged).toEqual(["text.txt"]);
    expect(textOf(workspace)).toBe(kBoth);
    await transaction.undo();
    expect(textOf(workspace)).toBe(theirs);
    expect((await transaction.changes()).map(({ path, conflict }) => [path, conflict])).toEqual([
      ["text.txt", undefined],
    ]);
    await transaction.commit();
    expect(textOf(workspace)).toBe(kBoth);
    await runner.close();
  });

  test("of two that were opened by themselves, after a resume", async () => {
    const workspace = twenty();
    const { transaction, runner, state } = await openTransaction(workspace);
    const options = { directory: state, backend: transaction.backend };
    const other = await runner.openTransaction(options);
    await run(transaction, kOurs);
    await run(other, kTheirs);
    await transaction.close();
    await other.commit();
    const resumed = await runner.resumeTransaction(transaction.id, { directory: state });
    await resumed.commit({ merge: true });
    expect(textOf(workspace)).toBe(kBoth);
    await runner.close();
  });

  test("again and again, whichever commits first", async () => {
    const { workspace, transaction, other, runner } = await opened(kOurs, kTheirs);
    await other.commit();
    await transaction.commit({ merge: true });
    await run(other, "sed -i 's/line 20$/more/' text.txt");
    await run(transaction, "sed -i 's/line 9$/most/' text.txt");
    await transaction.commit();
    await other.commit({ merge: true });
    expect(textOf(workspace)).toBe(
      kBoth.replace("line 20\n", "more\n").replace("line 9\n", "most\n"),
    );
    await runner.close();
  });

  test("of some paths leaves the others, and their conflicts, alone", async () => {
    const both = "sed -i 's/line 3$/ours/' text.txt dir/in.txt";
    const { workspace, transaction, other, runner } = await opened(
      both,
      "sed -i 's/line 15$/theirs/' text.txt; sed -i 's/line 3$/theirs/' dir/in.txt",
    );
    await other.commit();
    await expect(transaction.commit({ merge: true })).rejects.toMatchObject({
      paths: ["dir/in.txt"],
    });
    expect(textOf(workspace)).not.toContain("ours");
    await transaction.commit({ merge: true, paths: ["text.txt"] });
    expect(textOf(workspace)).toBe(kBoth);
    expect((await transaction.changes()).map(({ path, conflict }) => [path, conflict])).toEqual([
      ["dir/in.txt", true],
    ]);
    await runner.close();
  });

  test("refuses what is protected, and options that say what was seen", async () => {
    const { workspace, transaction, other, runner } = await opened(
      `${kOurs}; echo 1 > .envrc`,
      kTheirs,
    );
    await other.commit();
    const theirs = textOf(workspace);
    await expect(transaction.commit({ merge: true })).rejects.toMatchObject({
      code: "ERR_TRANSACTION_PROTECTED",
      paths: [".envrc"],
    });
    expect(await transaction.files.readText("text.txt")).not.toContain("theirs");
    const given: object[] = [
      { merge: "yes" },
      { merge: true, expected: [] },
      { merge: true, contents: {} },
    ];
    for (const options of given) {
      await expect(transaction.commit(options)).rejects.toMatchObject({
        code: expect.stringMatching(/^ERR_INVALID_ARG/) as string,
        message: expect.stringContaining("merge") as string,
      });
    }
    expect(textOf(workspace)).toBe(theirs);
    await transaction.commit({ merge: true, allowProtected: [".envrc"] });
    expect(textOf(workspace)).toBe(kBoth);
    await runner.close();
  });

  test("of an edit by the host itself: an overlay has kept what it was, a copy has not", async () => {
    const workspace = twenty();
    const { transaction, runner } = await openTransaction(workspace);
    await run(transaction, kOurs);
    await transaction.changes(); // it has looked
    await pastTick();
    writeFileSync(join(workspace, "text.txt"), textOf(workspace).replace("line 15\n", "theirs\n"));
    chmodSync(join(workspace, "text.txt"), 0o600);
    const commit = transaction.commit({ merge: true });
    if (transaction.backend === "overlay") {
      await commit;
      expect(textOf(workspace)).toBe(kBoth);
      expect(statSync(join(workspace, "text.txt")).mode & 0o777).toBe(0o600);
    } else {
      await expect(commit).rejects.toMatchObject({
        reasons: [{ path: "text.txt", reason: expect.stringMatching(/was not kept/) as string }],
      });
      expect(textOf(workspace)).not.toContain("ours");
    }
    await runner.close();
  });

  test("keeps nothing of what it was once all is committed", async () => {
    const { transaction, other, runner, state } = await opened(kOurs, kTheirs);
    await other.commit();
    await transaction.commit({ merge: true });
    const texts = join(state, transaction.id, "texts");
    expect(existsSync(texts) ? readdirSync(texts) : []).toEqual([]);
    await runner.close();
  });

  test("of a host that is killed is done, or has not begun, and loses nothing", async () => {
    const workspace = tempDirectory();
    const names = Array.from({ length: 40 }, (_, at) => `f${at}`);
    const write = () => {
      for (const name of names) writeFileSync(join(workspace, name), kTwenty);
    };
    write();
    const { transaction: first, runner, state } = await openTransaction(workspace);
    const { backend } = first;
    await first.discard();
    const isAll = (text: string) => names.every((name) => textOf(workspace, name) === text);
    const theirs = kTwenty.replace("line 15\n", "theirs\n");
    let done = 0;
    const kRounds = 6;
    for (let round = 0; round < kRounds; round += 1) {
      write();
      await pastTick();
      const ours: Transaction = await runner.openTransaction({ directory: state, backend });
      const other = await ours.fork();
      await run(ours, "sed -i 's/line 3$/ours/' f*");
      await run(other, "sed -i 's/line 15$/theirs/' f*");
      await ours.close();
      await other.commit();
      await other.discard();
      expect(isAll(theirs)).toBe(true);
      const script = `
        const ours = await runner.resumeTransaction(${JSON.stringify(ours.id)}, options);
        begin();
        await ours.commit({ merge: true });`;
      await killedHost({ workspace, state }, script, 40 + round * 25);
      const resumed = await runner.resumeTransaction(ours.id, { directory: state });
      const isDone = isAll(kBoth);
      expect(isDone || isAll(theirs)).toBe(true);
      done += isDone ? 1 : 0;
      if (!isDone) await resumed.commit({ merge: true });
      expect(isAll(kBoth)).toBe(true);
      await resumed.undo();
      expect(isAll(theirs)).toBe(true);
      await resumed.discard();
    }
    expect(done).toBeLessThanOrEqual(kRounds);
    await runner.close();
  }, 120_000);
});
