/** What becomes of two branches: they are compared, merged three ways and adopted. */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import { membershipOf } from "../../../../lib/runners/transactions/membership.js";
import type { Transaction } from "../../support/package.js";
import { run } from "../../support/results.js";
import { tempDirectory } from "../../support/temp.js";
import { describeBackends, pastTick } from "../../support/transactions.js";
import { killedHost, linesOf, seenBy } from "./branch-trees.js";

const kTwenty = linesOf(...Array.from({ length: 20 }, (_, at) => `line ${at + 1}`));

function twenty(): string {
  const workspace = tempDirectory();
  const files = {
    "text.txt": kTwenty,
    "other.txt": "other\n",
    "dir/in.txt": kTwenty,
    "dir/too.txt": "x\n",
  };
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(workspace, name)), { recursive: true });
    writeFileSync(join(workspace, name), text);
  }
  return workspace;
}

/** What both do, and what becomes of it: a script that holds then, or the reason of a conflict at a path. */
type Case = {
  before?: string;
  ours: string;
  theirs: string;
  holds?: string;
  conflict?: [path: string, reason: RegExp];
};

const kCases: Record<string, Case> = {
  "other lines of one text": {
    ours: "sed -i 's/line 3$/ours/' text.txt",
    theirs: "sed -i 's/line 15$/theirs/' text.txt",
    holds: "grep -q ours text.txt && grep -q theirs text.txt && [ $(wc -l < text.txt) = 20 ]",
  },
  "the same lines, made the same": {
    ours: "sed -i 's/line 3$/same/' text.txt; echo 1 > new",
    theirs: "sed -i 's/line 3$/same/' text.txt; echo 1 > new",
    holds: "grep -q same text.txt && cat new",
  },
  "a text that was changed before they parted": {
    before: "sed -i 's/line 10$/before/' text.txt",
    ours: "sed -i 's/line 3$/ours/' text.txt",
    theirs: "sed -i 's/before/after/' text.txt",
    holds: "grep -q ours text.txt && grep -q after text.txt && ! grep -q before text.txt",
  },
  "one side alone adds, removes, links and renames": {
    ours: "echo 1 > here",
    theirs:
      "mkdir -p new/deep; echo 2 > new/deep/file; rm other.txt; ln -s text.txt link; mv dir/in.txt moved; chmod 755 text.txt",
    holds:
      "cat here new/deep/file && [ ! -e other.txt ] && [ -L link ] && [ -f moved ] && [ ! -e dir/in.txt ] && [ -x text.txt ]",
  },
  "mode on one side, contents on the other": {
    ours: "chmod 755 text.txt",
    theirs: "sed -i 's/line 3$/theirs/' text.txt",
    holds: "[ -x text.txt ] && grep -q theirs text.txt",
  },
  "a text that nobody may write to": {
    before: "chmod 444 text.txt",
    ours: "sed -i 's/line 3$/ours/' text.txt",
    theirs: "sed -i 's/line 15$/theirs/' text.txt",
    holds: "grep -q ours text.txt && grep -q theirs text.txt && [ $(stat -c %a text.txt) = 444 ]",
  },
  "a file that they renamed and we changed": {
    ours: "sed -i 's/line 3$/ours/' text.txt",
    theirs: "mv text.txt renamed.txt",
    holds: "grep -q ours renamed.txt && [ ! -e text.txt ]",
  },
  "a file that we renamed and they changed": {
    ours: "mkdir sub; mv text.txt sub/renamed.txt",
    theirs: "sed -i 's/line 3$/theirs/' text.txt",
    holds: "grep -q theirs sub/renamed.txt && [ ! -e text.txt ]",
  },
  "a file that they renamed and edited, and we changed": {
    ours: "sed -i 's/line 3$/ours/' text.txt",
    theirs:
      "mv text.txt renamed.txt; sed -i 's/line 15$/theirs/' renamed.txt; chmod 755 renamed.txt",
    holds:
      "grep -q ours renamed.txt && grep -q theirs renamed.txt && [ -x renamed.txt ] && [ ! -e text.txt ]",
  },
  "a file that we renamed and edited, and they changed": {
    ours: "mkdir sub; mv text.txt sub/renamed.txt; sed -i 's/line 15$/ours/' sub/renamed.txt",
    theirs: "sed -i 's/line 3$/theirs/' text.txt; chmod 755 text.txt",
    holds:
      "grep -q ours sub/renamed.txt && grep -q theirs sub/renamed.txt && [ -x sub/renamed.txt ] && [ ! -e text.txt ]",
  },
  "a file that they renamed and edited, beside one that is less alike": {
    ours: "sed -i 's/line 3$/ours/' text.txt",
    theirs:
      "head -12 text.txt > a.txt; mv text.txt renamed.txt; sed -i 's/line 15$/theirs/' renamed.txt",
    holds: "grep -q ours renamed.txt && grep -q theirs renamed.txt && ! grep -q ours a.txt",
  },
  "a directory that they removed, in which we made something": {
    ours: "echo 1 > dir/ours",
    theirs: "rm -r dir",
    holds: '[ "$(ls dir)" = ours ]',
  },
  "a directory that we removed, in which they made something": {
    ours: "rm -r dir",
    theirs: "mkdir dir/sub; echo 1 > dir/sub/theirs",
    holds: '[ "$(find dir -type f)" = dir/sub/theirs ]',
  },
  "a file in the place of a directory": {
    ours: "echo 1 > here",
    theirs: "rm -r dir; echo file > dir",
    holds: "[ -f dir ] && cat here",
  },
  "a directory in the place of a file": {
    ours: "echo 1 > here",
    theirs: "rm other.txt; mkdir other.txt; echo in > other.txt/in",
    holds: "cat other.txt/in here",
  },
  "the same lines": {
    ours: "sed -i 's/line 3$/ours/' text.txt",
    theirs: "sed -i 's/line 3$/theirs/' text.txt",
    conflict: ["text.txt", /both have changed the lines from line 3 on/],
  },
  "a new file on both sides": {
    ours: "echo ours > new",
    theirs: "echo theirs > new",
    conflict: ["new", /both have added it/],
  },
  "contents that are no text": {
    before: "printf 'a\\000b' > binary",
    ours: "printf 'a\\000ours' > binary",
    theirs: "printf 'a\\000theirs' > binary",
    conflict: ["binary", /no text/],
  },
  "changed here, deleted there": {
    ours: "echo ours >> other.txt",
    theirs: "rm other.txt",
    conflict: ["other.txt", /changed here, deleted there/],
  },
  "deleted here, changed there": {
    ours: "rm other.txt",
    theirs: "echo theirs >> other.txt",
    conflict: ["other.txt", /deleted here, changed there/],
  },
  "a file that they renamed and wrote anew, and we changed": {
    ours: "sed -i 's/line 3$/ours/' text.txt",
    theirs: "head -8 text.txt > renamed.txt; seq 100 >> renamed.txt; rm text.txt",
    conflict: ["text.txt", /changed here, deleted there/],
  },
  "a file that they renamed and edited in the lines that we changed": {
    ours: "sed -i 's/line 3$/ours/' text.txt",
    theirs: "mv text.txt renamed.txt; sed -i 's/line 3$/theirs/' renamed.txt",
    conflict: ["renamed.txt", /both have changed the lines from line 3 on/],
  },
  "a link that leads elsewhere": {
    before: "ln -s text.txt link",
    ours: "ln -sfn other.txt link",
    theirs: "ln -sfn dir link",
    conflict: ["link", /where the link leads/],
  },
  "a mode on both sides": {
    ours: "chmod 755 text.txt",
    theirs: "chmod 600 text.txt",
    conflict: ["text.txt", /mode/],
  },
  "another type on each side": {
    ours: "rm other.txt; mkdir other.txt",
    theirs: "rm other.txt; ln -s text.txt other.txt",
    conflict: ["other.txt", /another type/],
  },
  "something below what is no directory here": {
    ours: "rm -r dir; echo file > dir",
    theirs: "echo 1 > dir/theirs",
    conflict: ["dir/theirs", /no directory/],
  },
  "a file that they renamed below what is no directory here": {
    ours: "sed -i 's/line 3$/ours/' text.txt; echo ours > sub",
    theirs: "mkdir sub; mv text.txt sub/renamed.txt",
    conflict: ["text.txt", /changed here, deleted there/],
  },
  "no directory there, in which we made something": {
    ours: "echo 1 > dir/ours",
    theirs: "rm -r dir; echo file > dir",
    conflict: ["dir", /something else is below it/],
  },
};

describeBackends("a merge", (openTransaction, backend) => {
  async function parted(
    { before = "true", ours, theirs }: Pick<Case, "before" | "ours" | "theirs">,
    options: Parameters<typeof openTransaction>[1] = {},
  ) {
    const opened = await openTransaction(twenty(), options);
    const { transaction } = opened;
    expect(await run(transaction, before)).toMatchObject({ exitCode: 0, err: "" });
    const fork = await transaction.fork();
    expect(await run(transaction, ours)).toMatchObject({ exitCode: 0, err: "" });
    expect(await run(fork, theirs)).toMatchObject({ exitCode: 0, err: "" });
    return { ...opened, fork };
  }

  test.each(Object.entries(kCases))("%s", async (_, { holds, conflict, ...both }) => {
    const { transaction, fork, runner } = await parted(both);
    const [ours, theirs] = [await seenBy(transaction), await seenBy(fork)];
    if (conflict) {
      const [path, reason] = conflict;
      const failed = transaction.merge(fork);
      await expect(failed).rejects.toMatchObject({
        code: "ERR_TRANSACTION_CONFLICT",
        reasons: expect.arrayContaining([
          { path, reason: expect.stringMatching(reason) as string },
        ]) as object,
      });
      expect(await seenBy(transaction)).toBe(ours);
      const { conflicts } = await transaction.merge(fork, { onConflict: "ours" });
      expect(conflicts.map((each) => each.path)).toContain(path);
    } else {
      const { merged, audit } = await transaction.merge(fork);
      expect(audit).toMatchObject({
        action: "merge",
        outcome: "done",
        from: fork.id,
        merged: merged.length,
      });
      expect(await run(transaction, holds ?? "false")).toMatchObject({ exitCode: 0 });
    }
    expect(await seenBy(fork)).toBe(theirs);
    // What was merged is none of their changes any more.
    const again = await transaction.merge(fork);
    expect(again.merged).toEqual([]);
    await runner.close();
  });

  test("decides by `onConflict`, in texts line by line", async () => {
    const both = {
      ours: "sed -i 's/line 3$/ours/; s/line 18$/also ours/' text.txt; echo ours > new",
      theirs: "sed -i 's/line 3$/theirs/; s/line 10$/also theirs/' text.txt; echo theirs > new",
    };
    for (const side of ["ours", "theirs"] as const) {
      const { transaction, fork, runner } = await parted(both);
      const { conflicts } = await transaction.merge(fork, { onConflict: side });
      expect(conflicts.map(({ path }) => path)).toEqual(["new", "text.txt"]);
      const { out } = await run(transaction, "sed -n '3p;10p;18p' text.txt; cat new");
      expect(out).toBe(`${side}\nalso theirs\nalso ours\n${side}`);
      await runner.close();
    }
    const { transaction, fork, runner } = await parted(both);
    const markers = { onConflict: "markers" } as const;
    await expect(transaction.merge(fork, markers)).rejects.toMatchObject({ paths: ["new"] });
    await transaction.merge(fork, { ...markers, paths: ["text.txt"] });
    const { out } = await run(transaction, "sed -n '3,7p' text.txt; cat new");
    expect(out).toBe(`<<<<<<< ours\nours\n=======\ntheirs\n>>>>>>> ${fork.id}\nours`);
    await runner.close();
  });

  test("of some paths leaves the others to be merged later", async () => {
    const { transaction, fork, runner } = await parted({
      before: "echo before > dir/in.txt; echo before > both",
      ours: "sed -i 's/line 3$/ours/' text.txt",
      theirs:
        "sed -i 's/line 15$/theirs/' text.txt; echo theirs > dir/in.txt; rm other.txt; echo new > new; echo more >> both",
    });
    expect((await transaction.merge(fork, { paths: ["dir", "both"] })).merged).toEqual([
      "both",
      "dir/in.txt",
    ]);
    await run(fork, "echo again > dir/in.txt");
    expect((await transaction.merge(fork, { paths: ["text.txt"] })).merged).toEqual(["text.txt"]);
    const { merged } = await transaction.merge(fork);
    expect(merged).toEqual(["dir/in.txt", "new", "other.txt"]);
    expect(await fork.changes({ since: transaction })).toMatchObject([{ path: "text.txt" }]);
    expect((await transaction.merge(fork)).merged).toEqual([]);
    await runner.close();
  });

  test("loses nothing that the other side changes between the plan and the merge", async () => {
    // The addon is asked directly, so nothing of the runner's may stand in the transaction.
    const { transaction, fork, runner } = await parted(
      {
        ours: "sed -i 's/line 3$/ours/' text.txt",
        theirs: "sed -i 's/line 15$/theirs/' text.txt; echo 1 > one",
      },
      { clone: "never" },
    );
    const [ours, theirs] = [transaction, fork].map((each) => membershipOf(each, "each").handle);
    if (!ours || !theirs) throw new Error("two transactions");
    const steps = await ours.planMerge({ from: theirs });
    expect(steps.map(({ path }) => path)).toEqual(["one", "text.txt"]);
    await run(fork, "sed -i 's/line 18$/later/' text.txt; echo 2 > two; rm other.txt");
    const files = [{ path: "text.txt", mode: 0o100644, contents: Buffer.from("merged\n") }];
    const request = { theirs: [{ path: "one", mode: 0 }], files, removed: [] };
    await ours.merge({ ...request, from: theirs });
    const later = await transaction.merge(fork, { onConflict: "theirs" });
    expect(later.merged).toEqual(["other.txt", "text.txt", "two"]);
    await runner.close();
  });

  test("that was rolled back can be made again; a fork that went back takes nothing away", async () => {
    const { transaction, fork, runner } = await parted({
      ours: "echo 1 > ours",
      theirs: "echo 1 > theirs",
    });
    const { id } = await transaction.checkpoint();
    await run(transaction, "echo 2 > after");
    const second = await transaction.fork();
    await transaction.merge(fork);
    await transaction.rollback(id);
    expect((await run(transaction, "ls")).out).not.toContain("theirs");
    expect((await transaction.merge(fork)).merged).toEqual(["theirs"]);
    await run(transaction, "echo 2 > after");
    await second.rollback(id);
    expect((await run(second, "ls")).out).not.toContain("after");
    expect((await transaction.merge(second)).merged).toEqual([]);
    expect((await run(transaction, "cat after")).out).toBe("2");
    await runner.close();
  });

  test("with one that went back to before both parted brings nothing back that was removed", async () => {
    const { transaction, runner } = await openTransaction(twenty());
    await run(transaction, "echo 1 > made; echo 1 > kept");
    const { id } = await transaction.checkpoint();
    await run(transaction, "echo 2 > since");
    const fork = await transaction.fork();
    await run(fork, "rm made; sed -i 's/line 3$/by the fork/' text.txt");
    await transaction.rollback(id);
    expect((await fork.merge(transaction)).merged).toEqual([]);
    expect((await run(fork, "ls")).out.split("\n")).not.toContain("made");
    await run(transaction, "sed -i 's/line 18$/after/' text.txt; echo 3 > kept");
    expect((await fork.merge(transaction)).merged).toEqual(["kept", "text.txt"]);
    expect((await run(fork, "sed -n '3p;18p' text.txt; cat kept")).out).toBe(
      "by the fork\nafter\n3",
    );
    expect((await transaction.merge(fork)).merged).toEqual(["made", "since", "text.txt"]);
    await runner.close();
  });

  test("with one that went back finds what was made of its later states", async () => {
    const { transaction, runner } = await openTransaction(twenty());
    const [taker, partly] = await transaction.fork({ count: 2 });
    if (!taker || !partly) throw new Error("two forks");
    await run(transaction, "echo 1 > made; echo 1 > kept");
    const { id } = await transaction.checkpoint();
    await run(transaction, "echo 2 > since");
    await taker.merge(transaction);
    await partly.merge(transaction, { paths: ["made"] });
    const below = await taker.fork();
    await taker.discard();
    for (const each of [below, partly]) await run(each, "rm made; echo 2 > other.txt");
    await transaction.rollback(id);
    await below.merge(await below.fork()); // tidies up
    expect((await below.merge(transaction)).merged).toEqual([]);
    expect((await transaction.merge(partly)).merged).toEqual(["made", "other.txt"]);
    await transaction.rollback(id);
    expect((await transaction.merge(below)).merged).toEqual(["made", "other.txt", "since"]);
    expect((await run(transaction, "ls made; cat kept since")).out).toBe("1\n2");
    await runner.close();
  });

  test("from several common states starts from the one that has changed the path", async () => {
    const { transaction, runner } = await openTransaction(twenty());
    const aside = await transaction.fork();
    await run(transaction, "echo 1 > gone; echo 1 > both; echo 1 > other.txt");
    const fork = await transaction.fork();
    await run(aside, "echo 1 > aside");
    for (const each of [transaction, fork]) await each.merge(aside);
    await run(fork, "rm gone both; echo other > other.txt");
    await run(transaction, "echo 2 > both");
    await expect(transaction.merge(fork)).rejects.toMatchObject({ paths: ["both"] });
    const { merged } = await transaction.merge(fork, { onConflict: "ours" });
    expect(merged).toEqual(["gone", "other.txt"]);
    expect((await run(transaction, "ls gone; cat both other.txt")).out).toBe("2\nother");
    await runner.close();
  });

  test("from several common states takes none of them for unchanged where they differ", async () => {
    const { transaction, runner } = await openTransaction(twenty());
    const [one, other, ours, theirs] = await transaction.fork({ count: 4 });
    if (!one || !other || !ours || !theirs) throw new Error("four forks");
    const both = "dir/in.txt text.txt";
    await run(one, `echo one > new; sed -i 's/line 1$/by one/' ${both}`);
    await run(other, `echo other > new; sed -i 's/line 20$/by the other/' ${both}`);
    for (const [each, onConflict] of [
      [ours, "ours"],
      [theirs, "theirs"],
    ] as const) {
      await each.merge(one);
      expect((await each.merge(other, { onConflict })).conflicts).toMatchObject([{ path: "new" }]);
    }
    await run(ours, `sed -i 's/line 7$/ours/' ${both}`);
    await run(theirs, "sed -i 's/line 14$/theirs/' text.txt; sed -i '20s/.*/line 20/' dir/in.txt");
    await expect(ours.merge(theirs)).rejects.toMatchObject({
      paths: ["dir/in.txt", "new"],
      reasons: expect.arrayContaining([
        { path: "dir/in.txt", reason: expect.stringMatching(/different contents/) as string },
      ]) as object,
    });
    expect((await ours.merge(theirs, { paths: ["text.txt"] })).merged).toEqual(["text.txt"]);
    expect((await run(ours, "sed -n '1p;7p;14p;20p' text.txt")).out).toBe(
      "by one\nours\ntheirs\nby the other",
    );
    await runner.close();
  });

  // A copy does not see what the others commit.
  test.runIf(backend === "overlay").each([
    ["another one", "ours"],
    ["the same one", "the maker"],
  ])(
    "is in conflict where a branch has removed what the host has since, and we have %s",
    async (_, mine) => {
      const { transaction, workspace, runner } = await openTransaction(twenty());
      const [maker, remover] = await transaction.fork({ count: 2 });
      if (!maker || !remover) throw new Error("two forks");
      await run(transaction, `echo ${mine} > new`);
      await run(maker, "echo the maker > new");
      await maker.commit();
      await pastTick();
      expect((await run(remover, "cat new")).out).toBe("the maker");
      await run(remover, "rm new; echo 1 > removed");
      await expect(transaction.merge(remover)).rejects.toMatchObject({ paths: ["new"] });
      expect((await transaction.merge(remover, { onConflict: "ours" })).merged).toEqual([
        "removed",
      ]);
      expect((await run(transaction, "cat new")).out).toBe(mine);
      expect(readFileSync(join(workspace, "new"), "utf8")).toBe("the maker\n");
      await runner.close();
    },
  );

  test("knows what both had of their own, though a commit of it was undone", async () => {
    const { transaction, runner } = await openTransaction(twenty());
    const one = await transaction.fork();
    await run(transaction, "echo 1 > dir/new");
    const other = await transaction.fork();
    await other.commit();
    await run(one, "echo 1 > aside");
    for (const each of [other, transaction]) await each.merge(one);
    await other.undo();
    await run(other, "echo 2 > dir/new");
    await run(transaction, "rm -r dir");
    await expect(transaction.merge(other)).rejects.toMatchObject({ paths: ["dir/new"] });
    await runner.close();
  });

  test("after an undo starts from what the commit had left on the host when both parted", async () => {
    const { transaction, runner } = await openTransaction(twenty());
    await run(transaction, "echo 1 > made; rm other.txt");
    await transaction.commit();
    const fork = await transaction.fork();
    await run(fork, "echo 2 > made; echo 2 > other.txt");
    await fork.changes();
    await transaction.undo();
    expect((await transaction.merge(fork)).merged).toEqual(["made", "other.txt"]);
    expect((await run(transaction, "cat made other.txt")).out).toBe("2\n2");
    await runner.close();
  });

  // The host has what was committed, and so the other one sees it, without a change of its own.
  test("takes what was removed since it was committed for a change", async () => {
    const workspace = twenty();
    const { runner, transaction } = await openTransaction(workspace);
    const fork = await transaction.fork();
    await run(transaction, "echo 1 > dir/new");
    writeFileSync(join(workspace, "dir/too.txt"), "of the host\n");
    await transaction.commit();
    await run(fork, "echo 2 > other.txt");
    await run(transaction, "rm -r dir");
    const end = await transaction.merge(fork).catch((error: unknown) => error);
    // What it removed may have been another file than the host's: then that is for somebody to decide.
    if (end instanceof Error) expect(end).toMatchObject({ paths: ["dir/new"] });
    else expect(existsSync(join(workspace, "dir/new"))).toBe(true);
    expect((await run(transaction, "[ -e dir/new ] || echo gone")).out).toBe("gone");
    await runner.close();
  });

  test("takes a file of its own for one, which the host had too when both were the same", async () => {
    const workspace = twenty();
    const { runner, transaction: first } = await openTransaction(workspace);
    await run(first, "echo 1 > new");
    const one = await first.fork();
    const other = await first.fork();
    await run(other, "echo 2 > new");
    await first.commit();
    await other.adopt(one);
    await first.undo();
    await run(other, "rm new");
    await one.merge(other);
    expect((await run(one, "[ -e new ] || echo gone")).out).toBe("gone");
    await runner.close();
  });

  test("takes what one side has removed for a change, also where an undo has removed it too", async () => {
    const workspace = twenty();
    const { runner, transaction: first } = await openTransaction(workspace);
    const other = await first.fork();
    await run(first, "echo 1 > new");
    await first.commit();
    // A copy has it by a merge, an overlay from the host.
    await other.adopt(first);
    await run(other, "rm new");
    await other.changes();
    await first.undo();
    await run(first, "echo 2 > new");
    await expect(first.merge(other)).rejects.toMatchObject({ paths: ["new"] });
    await runner.close();
  });

  test("brings nothing back that both had as the host did when they were forked", async () => {
    const workspace = twenty();
    const { runner, transaction: first } = await openTransaction(workspace);
    const parent = await first.fork();
    await run(first, "echo 1 > new");
    await parent.adopt(first);
    await first.commit();
    await first.discard(); // one is left: what commits have replaced is no longer kept
    const [one, other] = await parent.fork({ count: 2 });
    if (one === undefined || other === undefined) throw new Error("no two forks");
    await run(one, "rm new");
    writeFileSync(join(workspace, "new"), "of the host\n");
    expect((await one.merge(other)).merged).toEqual([]);
    expect((await run(one, "[ -e new ] || echo gone")).out).toBe("gone");
    await runner.close();
  });

  test("brings nothing back that the commit of another branch has removed since both had it", async () => {
    for (const isMadeAnew of [false, true]) {
      const { runner, transaction: one } = await openTransaction(twenty());
      const other = await one.fork();
      await run(other, "echo 1 > dir/new");
      await one.merge(other);
      await one.commit();
      const third = await one.fork();
      await other.merge(one);
      await run(third, "rm dir/new");
      await third.commit();
      if (backend === "copy") await one.merge(third); // it shows it until then
      await run(one, "[ ! -e dir/new ]"); // and an overlay until it is used
      if (isMadeAnew) await run(other, "echo 2 > dir/new");
      const end = await one.merge(other).catch((error: unknown) => error);
      const { out } = await run(one, "cat dir/new 2> /dev/null || echo gone");
      if (!isMadeAnew)
        expect([out, end]).toEqual(["gone", expect.objectContaining({ merged: [] })]);
      else if (end instanceof Error) expect(end).toMatchObject({ paths: ["dir/new"] });
      else expect(out).toBe("2");
      await runner.close();
    }
  });

  test("of siblings, and of a fork's fork, starts where they parted", async () => {
    const { transaction, runner } = await openTransaction(twenty());
    await run(transaction, "sed -i 's/line 1$/common/' text.txt");
    const [one, other] = await transaction.fork({ count: 2 });
    if (!one || !other) throw new Error("two forks");
    await run(one, "sed -i 's/common/by one/' text.txt");
    const below = await other.fork();
    await run(below, "sed -i 's/line 20$/by below/' text.txt");
    await one.merge(below);
    expect((await run(one, "sed -n '1p;20p' text.txt")).out).toBe("by one\nby below");
    await other.discard(); // what was between them is gone, and was merged before
    await run(below, "sed -i 's/line 12$/later/' text.txt");
    expect((await one.merge(below)).merged).toEqual(["text.txt"]);
    await transaction.merge(one);
    expect((await run(transaction, "sed -n '1p;12p;20p' text.txt")).out).toBe(
      "by one\nlater\nby below",
    );
    await runner.close();
  });

  test("keeps a host's edit that the other side had not seen from being lost", async () => {
    const { transaction, workspace, runner } = await openTransaction(twenty());
    const fork = await transaction.fork();
    await run(fork, "echo theirs > other.txt; rm dir/too.txt; echo new > made");
    await fork.changes();
    await pastTick();
    writeFileSync(join(workspace, "other.txt"), "host\n");
    writeFileSync(join(workspace, "dir/too.txt"), "host\n");
    await pastTick();
    await transaction.merge(fork);
    const refused = transaction.commit();
    await expect(refused).rejects.toMatchObject({ code: "ERR_TRANSACTION_CONFLICT" });
    const conflicts = (await transaction.changes()).filter(({ conflict }) => conflict);
    expect(conflicts.map(({ path }) => path)).toEqual(["dir/too.txt", "other.txt"]);
    await transaction.commit({ paths: ["made"] });
    expect(readFileSync(join(workspace, "other.txt"), "utf8")).toBe("host\n");
    expect(readFileSync(join(workspace, "made"), "utf8")).toBe("new\n");
    await runner.close();
  });

  test("of what the host has made since, taken back, removes nothing of the host's", async () => {
    const { transaction, workspace, runner, state } = await openTransaction(twenty());
    for (const name of ["later", "gone"]) writeFileSync(join(workspace, name), "host\n");
    await pastTick();
    const other = await runner.openTransaction({
      directory: state,
      backend: transaction.backend,
    });
    await run(other, "echo edited > later; echo edited > gone");
    const { id } = await transaction.checkpoint();
    await transaction.merge(other);
    await transaction.rollback(id);
    expect(await transaction.changes()).toEqual([]);
    await transaction.merge(other);
    await run(transaction, "rm gone"); // the control
    expect(await transaction.changes()).toMatchObject([
      { path: "gone", kind: "deleted" },
      { path: "later", kind: "modified" },
    ]);
    await transaction.commit();
    expect(existsSync(join(workspace, "gone"))).toBe(false);
    expect(readFileSync(join(workspace, "later"), "utf8")).toBe("edited\n");
    await runner.close();
  });

  test("ends running commands, but none where it is refused; later ones see what was merged", async () => {
    const { transaction, fork, runner } = await parted({
      ours: "echo ours > new",
      theirs: "echo theirs > new",
    });
    const live = await transaction.spawn({ argv: ["sleep", "3600"] });
    await expect(transaction.merge(fork)).rejects.toMatchObject({
      code: "ERR_TRANSACTION_CONFLICT",
    });
    await expect(Promise.race([live.result, setTimeout(300, "goes on")])).resolves.toBe("goes on");
    const theirs = run(fork, "while [ ! -e stop ]; do sleep 0.02; done; echo went on");
    const merging = transaction.merge(fork, { onConflict: "theirs" });
    const later = run(transaction, "cat new");
    await merging;
    expect((await live.result).outcome?.kind).not.toBe("exited");
    expect((await later).out).toBe("theirs");
    await fork.files.write("stop", "");
    expect((await theirs).out).toBe("went on");
    await runner.close();
  });

  test("compares any two, as `changes` and `diff` compare with the host", async () => {
    const { transaction, fork, runner } = await parted({
      before: "echo before > both",
      ours: "echo ours > ours; rm other.txt; chmod 755 text.txt",
      theirs: "echo theirs > theirs; echo more >> both; mv dir/in.txt dir/on.txt",
    });
    const told = (await fork.changes({ since: transaction })).map(
      ({ kind, path, from = "" }) => `${kind} ${path} ${from}`,
    );
    expect(told).toEqual([
      "modified both ",
      "renamed dir/on.txt dir/in.txt",
      "added other.txt ",
      "deleted ours ",
      "modified text.txt ",
      "added theirs ",
    ]);
    const only = await fork.changes({ since: transaction, paths: ["dir"] });
    expect(only.map(({ path }) => path)).toEqual(["dir/on.txt"]);
    const diff = await fork.diff({ since: transaction });
    expect(diff).toContain("rename from dir/in.txt");
    expect(diff).toContain("+more");
    await expect(fork.diff({ since: transaction, maxBytes: 10 })).rejects.toMatchObject({
      code: "ERR_OUT_OF_RANGE",
    });
    expect(await fork.changes({ since: fork }).catch((error: Error) => error.message)).toMatch(
      /another transaction/,
    );
    await runner.close();
  });

  test("adopts: the one is what the other is, and can go another way again", async () => {
    const { transaction, fork, workspace, runner } = await parted({
      before: "echo before > both",
      ours: "echo ours > ours; rm -r dir; echo ours > both",
      theirs: "rm both; echo theirs > theirs; ln -s theirs link; chmod 700 dir",
    });
    const { id } = await transaction.checkpoint();
    const [ours, theirs] = [await seenBy(transaction), await seenBy(fork)];
    expect((await transaction.adopt(fork)).audit).toMatchObject({ action: "adopt", from: fork.id });
    expect(await seenBy(transaction)).toBe(theirs);
    expect(await transaction.changes({ since: fork })).toEqual([]);
    await transaction.rollback(id);
    expect(await seenBy(transaction)).toBe(ours);
    await transaction.adopt(fork);
    await transaction.commit();
    expect(readFileSync(join(workspace, "theirs"), "utf8")).toBe("theirs\n");
    await runner.close();
  });

  test("is refused for what is no transaction of the workspace", async () => {
    const { transaction, runner } = await openTransaction(twenty());
    const other = await openTransaction(twenty());
    const fork = await transaction.fork();
    const given: [unknown, object?][] = [
      [undefined],
      [null],
      ["0123456789ab"],
      [transaction],
      [other.transaction],
      [fork, { onConflict: "mine" }],
      [fork, { path: ["a"] }],
      [fork, { paths: ["../a"] }],
    ];
    for (const [from, options] of given) {
      await expect(transaction.merge(from as Transaction, options)).rejects.toMatchObject({
        code: expect.stringMatching(/^ERR_INVALID_ARG/) as string,
      });
    }
    await fork.close();
    await expect(transaction.merge(fork)).rejects.toMatchObject({ code: "ERR_SANDBOX_CLOSED" });
    await other.runner.close();
    await runner.close();
  });

  test("of a host that is killed is done, or has not begun", async () => {
    const { transaction, fork, workspace, runner, state } = await parted({
      ours: "for i in $(seq 100); do echo $i > ours$i; done; sed -i 's/line 3$/ours/' text.txt",
      theirs:
        "for i in $(seq 100); do echo $i > theirs$i; done; sed -i 's/line 15$/theirs/' text.txt; rm -r dir",
    });
    const before = await seenBy(transaction);
    await transaction.merge(fork);
    const after = await seenBy(transaction);
    await transaction.discard();
    await fork.discard();
    const seen = { before: 0, after: 0 };
    for (let round = 0; round < 8; round += 1) {
      const again = await runner.openTransaction({
        directory: state,
        backend: transaction.backend,
      });
      const other = await again.fork();
      await run(
        again,
        "for i in $(seq 100); do echo $i > ours$i; done; sed -i 's/line 3$/ours/' text.txt",
      );
      await run(
        other,
        "for i in $(seq 100); do echo $i > theirs$i; done; sed -i 's/line 15$/theirs/' text.txt; rm -r dir",
      );
      const ids = [again.id, other.id];
      await again.close();
      await other.close();
      const script = `
        const [ours, theirs] = await Promise.all(${JSON.stringify(ids)}.map((id) => runner.resumeTransaction(id, options)));
        begin();
        await ours.merge(theirs);`;
      await killedHost({ workspace, state }, script, 20 + round * 12);
      const resumed = await runner.resumeTransaction(again.id, { directory: state });
      const now = await seenBy(resumed);
      expect([before, after]).toContain(now);
      seen[now === before ? "before" : "after"] += 1;
      await resumed.discard();
      await (await runner.resumeTransaction(other.id, { directory: state })).discard();
    }
    expect(seen.before + seen.after).toBe(8);
    await runner.close();
  }, 120_000);
});
