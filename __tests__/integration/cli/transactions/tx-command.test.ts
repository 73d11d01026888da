/** `tx` as users start it: dist/cli/main.js, as `npm run build` leaves it. */

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, expect, test } from "vitest";

import { treeOf } from "../../../support/tree-of.js";
import { whyNoCli } from "../../support/built-cli.js";
import { BubblewrapNativeRunner } from "../../support/package.js";
import { describeUnless, whyNoBubblewrap } from "../../support/requirements.js";
import { tempDirectory } from "../../support/temp.js";
import { kEdit, kSummary, Scene } from "./transaction-workspace.js";

let scene: Scene;
beforeEach(() => {
  scene = new Scene();
});

describeUnless(whyNoCli ?? whyNoBubblewrap, "tx", () => {
  test("list tells of those that wait, as text and as JSON", () => {
    expect(scene.cli("tx", "list")).toEqual({ status: 0, stdout: "no transactions\n", stderr: "" });
    expect(JSON.parse(scene.cli("tx", "list", "--json").stdout)).toEqual([]);
    const id = scene.waiting();
    expect(scene.cli("tx", "list").stdout).toBe(
      `ID            STATE   OPENED    WORKSPACE\n${id}  closed  just now  ${scene.workspace}\n`,
    );
    const listed = JSON.parse(scene.cli("tx", "list", "--json").stdout);
    expect(listed).toMatchObject([
      { id, workspace: scene.workspace, backend: "overlay", state: "closed" },
    ]);
    expect(Date.now() - Date.parse(listed[0].createdAt)).toBeLessThan(60_000);
  });

  test("list filters by directory and age, and prune discards those that are gone or old", () => {
    const id = scene.waiting();
    const other = new Scene();
    const ids = (...words: string[]) =>
      JSON.parse(scene.cli("tx", "list", "--json", ...words).stdout).map(
        (each: { id: string }) => each.id,
      );
    expect(ids("-w", ".")).toEqual([id]);
    expect(ids("-w", dirname(scene.workspace))).toEqual([id]);
    expect(ids("-w", other.workspace)).toEqual([]);
    expect(ids("--older-than", "1h")).toEqual([]);
    expect(ids("--newer-than", "1h")).toEqual([id]);
    expect(scene.cli("tx", "prune").stdout).toBe("nothing to prune\n");
    expect(scene.cli("tx", "prune", "--older-than", "1ms", "--dry-run").stdout).toContain(
      `would discard ${id}`,
    );
    expect(scene.cli("tx", "prune", "--older-than", "1ms", "-w", other.workspace).stdout).toBe(
      "nothing to prune\n",
    );
    expect(scene.ids()).toEqual([id]);
    expect(scene.cli("tx", "list", "--sizes").stdout).toMatch(
      /^ID +STATE +OPENED +SIZE +WORKSPACE\n\S+ +closed +just now +\d+(\.\d)? KiB +\//,
    );
    expect(scene.cli("tx", "prune", "--older-than", "1ms").stdout).toMatch(
      new RegExp(`^discarded ${id} .*\nfreed \\d+(\\.\\d)? KiB\n$`),
    );
    expect(scene.ids()).toEqual([]);
  });

  test("fork, diff of two, merge and adopt; list shows forks below what they came from", async () => {
    const id = scene.waiting();
    const forked = scene.cli("tx", "fork", id.slice(0, 6), "--count", "2");
    expect(forked).toMatchObject({ status: 0, stderr: "" });
    const [one = "", other = ""] = forked.stdout.trim().split("\n");
    const [below] = JSON.parse(scene.cli("tx", "fork", one, "--json").stdout).forks;
    expect(
      scene
        .cli("tx", "list")
        .stdout.split("\n")
        .map((line) => line.split("  closed")[0]),
    ).toEqual([
      "ID                STATE   OPENED    WORKSPACE",
      `${id}    `,
      `└ ${one}  `,
      `  └ ${below}`,
      `└ ${other}  `,
      "",
    ]);
    const runner = new BubblewrapNativeRunner({ shadowDir: scene.workspace, prewarm: 0 });
    for (const [at, text] of [
      [one, "one"],
      [other, "other"],
    ] as const) {
      const transaction = await runner.resumeTransaction(at, { directory: scene.directory });
      await transaction.files.write("b.txt", `${text}\n`);
      await transaction.files.write(text, "");
      await transaction.close();
    }
    await runner.close();
    const diff = scene.cli("tx", "diff", one, other).stdout;
    expect(diff).toContain("-one\n+other");
    const refused = scene.cli("tx", "merge", one, other);
    expect(refused).toMatchObject({ status: 121, stdout: "" });
    expect(refused.stderr).toContain(
      "conflict, nothing was merged:\n  b.txt: both have changed the lines from line 1 on",
    );
    const inJson = scene.cli("tx", "merge", one, other, "--json");
    expect(JSON.parse(inJson.stdout)).toMatchObject({ error: { conflicts: [{ path: "b.txt" }] } });
    const merged = scene.cli("tx", "merge", one, other, "--on-conflict", "theirs");
    expect(merged).toMatchObject({ status: 0, stdout: "b.txt\nother\n" });
    expect(merged.stderr).toContain("b.txt: both have changed");
    expect(scene.cli("tx", "merge", one, other)).toMatchObject({ stdout: "nothing to merge\n" });
    expect(scene.cli("tx", "adopt", id, one)).toMatchObject({
      status: 0,
      stdout: "b.txt\none\nother\n",
    });
    expect(scene.cli("tx", "commit", id).status).toBe(0);
    expect(scene.read("b.txt")).toBe("other\n");
    expect(scene.cli("tx", "merge", one, one)).toMatchObject({ status: 2 });
    expect(scene.cli("tx", "merge", one, "000000")).toMatchObject({ status: 120 });
    expect(scene.cli("tx", "merge", one, other, "--on-conflict", "mine")).toMatchObject({
      status: 2,
    });
  });

  test("a transaction whose workspace is gone is told apart, and pruned", async () => {
    const id = scene.waiting();
    const moved = `${scene.workspace}-moved`;
    renameSync(scene.workspace, moved);
    const elsewhere = new Scene();
    const place = ["--state-directory", scene.directory];
    const listed = elsewhere.cli("tx", "list", ...place).stdout;
    expect(listed).toContain(`${scene.workspace} (the workspace is gone)\n`);
    expect(JSON.parse(elsewhere.cli("tx", "list", "--json", ...place).stdout)).toMatchObject([
      { id, gone: true },
    ]);
    // While a process has it open, and while it may hold the only copy of a file, it stays.
    const lock = spawn(
      "flock",
      [join(scene.directory, id, "lock"), "sh", "-c", "echo locked; cat"],
      {
        stdio: ["pipe", "pipe", "inherit"],
      },
    );
    await once(lock.stdout, "data");
    expect(elsewhere.cli("tx", "prune", ...place).stdout).toBe("nothing to prune\n");
    lock.stdin.end();
    await once(lock, "exit");
    expect(elsewhere.cli("tx", "prune", "--dry-run", ...place).stdout).toContain(
      `would discard ${id}`,
    );
    expect(scene.ids()).toEqual([id]);
    expect(elsewhere.cli("tx", "prune", ...place).stdout).toContain(
      `discarded ${id} (its workspace is gone: ${scene.workspace})\nfreed `,
    );
    expect(scene.ids()).toEqual([]);
    expect(readFileSync(join(moved, "a.txt"), "utf8")).toBe("one\n");
  });

  test("prune leaves what has backups of a commit, with its workspace and without", () => {
    const id = scene.waiting();
    const commit = join(scene.directory, id, "commit");
    mkdirSync(commit);
    writeFileSync(join(commit, "torn"), "");
    const old = ["--older-than", "1ms"];
    const why = "it has backups of files of a commit that was interrupted";
    expect(scene.cli("tx", "prune", ...old).stdout).toBe(
      `left ${id} (${scene.workspace}): ${why}\n`,
    );
    const moved = `${scene.workspace}-moved`;
    renameSync(scene.workspace, moved);
    const elsewhere = new Scene();
    const place = ["--state-directory", scene.directory];
    expect(elsewhere.cli("tx", "prune", ...place).stdout).toContain(`left ${id} (its workspace is`);
    expect(JSON.parse(elsewhere.cli("tx", "prune", "--json", ...place).stdout)).toMatchObject({
      pruned: [],
      left: [{ id, gone: true }],
    });
    expect(scene.ids()).toEqual([id]);
    renameSync(moved, scene.workspace);
    rmSync(commit, { recursive: true });
    expect(scene.cli("tx", "prune", ...old).stdout).toContain(`discarded ${id}`); // the control
  });

  test("show tells of the changes, of some paths, by the beginning of an id", () => {
    const id = scene.waiting();
    expect(scene.cli("tx", "show", id.slice(0, 5))).toEqual({
      status: 0,
      stdout: kSummary,
      stderr: "",
    });
    expect(scene.cli("tx", "show", id, "--paths", "b.txt").stdout).toBe(
      "  A b.txt  4 B\n1 change: 1 added\n",
    );
    const shown = JSON.parse(scene.cli("tx", "show", id, "--json").stdout);
    expect(shown).toMatchObject({
      id,
      workspace: scene.workspace,
      changes: [{ path: "a.txt" }, { path: "b.txt" }],
    });
  });

  test("diff gives a patch that git applies, and the same as JSON", () => {
    const id = scene.waiting(`${kEdit}; printf 'x\\0' > binary; ln -s a.txt link; chmod +x a.txt`);
    const { stdout } = scene.cli("tx", "diff", id);
    const applied = tempDirectory("applied");
    writeFileSync(join(applied, "a.txt"), "one\n");
    const done = spawnSync("git", ["apply"], { cwd: applied, input: stdout, encoding: "utf8" });
    expect({ status: done.status, stderr: done.stderr }).toEqual({ status: 0, stderr: "" });
    expect(scene.cli("tx", "commit", id).status).toBe(0);
    expect(Object.keys(treeOf(applied))).toEqual(Object.keys(treeOf(scene.workspace)));
    expect(readFileSync(join(applied, "a.txt"), "utf8")).toBe("two\n");
    expect(scene.cli("tx", "undo", id).status).toBe(0);
    expect(JSON.parse(scene.cli("tx", "diff", id, "--json").stdout)).toEqual({ id, diff: stdout });
    expect(scene.cli("tx", "diff", id, "--paths", "link").stdout).toContain("new file mode 120000");
    expect(scene.cli("tx", "diff", id, "--paths", "link").stdout).not.toContain("a/a.txt b/a.txt");
  });

  test("commit, undo and discard do so, and say so", () => {
    const id = scene.waiting();
    const before = treeOf(scene.workspace);
    const committed = scene.cli("tx", "commit", id);
    expect(committed).toMatchObject({ status: 0, stdout: kSummary });
    expect(committed.stderr).toContain(`\`native-runner tx undo ${id}\` takes it back`);
    expect(scene.read("a.txt")).toBe("two\n");
    expect(scene.cli("tx", "list").stdout).toContain("(committed: undo takes it back)");
    expect(scene.cli("tx", "commit", id).stdout).toBe("nothing to commit\n");
    expect(scene.cli("tx", "undo", id)).toEqual({
      status: 0,
      stdout: `${scene.workspace} is as it was; the changes wait in ${id}\n`,
      stderr: "",
    });
    expect(treeOf(scene.workspace)).toEqual(before);
    expect(scene.cli("tx", "undo", id)).toMatchObject({ status: 125 });
    expect(scene.cli("tx", "discard", id)).toEqual({
      status: 0,
      stdout: `discarded ${id}\n`,
      stderr: "",
    });
    expect(scene.ids()).toEqual([]);
  });

  test("commit of some paths leaves the others", () => {
    const id = scene.waiting();
    const { status, stderr } = scene.cli("tx", "commit", id, "--paths", "b.txt");
    expect(status).toBe(0);
    expect(stderr).toContain("1 change not committed, and waiting");
    expect([scene.read("a.txt"), scene.read("b.txt")]).toEqual(["one\n", "new\n"]);
    expect(scene.cli("tx", "show", id).stdout).toContain("M a.txt");
  });

  test("a conflict names the paths, changes nothing, and has a code of its own", () => {
    const id = scene.waiting();
    writeFileSync(join(scene.workspace, "a.txt"), "host\n");
    const before = treeOf(scene.workspace);
    const { status, stdout, stderr } = scene.cli("tx", "commit", id);
    expect({ status, stdout }).toEqual({ status: 121, stdout: "" });
    expect(stderr).toMatch(/^native-runner: conflict, .*\n {2}a\.txt\nfix: .*--paths PATH/);
    expect(treeOf(scene.workspace)).toEqual(before);
    expect(scene.cli("tx", "show", id).stdout).toContain("conflict: the host has changed it too");
    const json = scene.cli("tx", "commit", id, "--json");
    expect(json.status).toBe(121);
    expect(JSON.parse(json.stdout)).toMatchObject({
      id,
      error: { code: "ERR_TRANSACTION_CONFLICT", paths: ["a.txt"] },
    });
    // And of an undo.
    expect(scene.cli("tx", "commit", id, "--paths", "b.txt").status).toBe(0);
    writeFileSync(join(scene.workspace, "b.txt"), "host\n");
    const undo = scene.cli("tx", "undo", id);
    expect(undo.status).toBe(121);
    expect(undo.stderr).toMatch(/nothing was undone: .*\n {2}b\.txt\n/);
    expect(scene.read("b.txt")).toBe("host\n");
  });

  test("`commit --merge` merges the lines of both, or says of each path why it can't be", () => {
    const file = join(scene.workspace, "lines");
    writeFileSync(file, "1\n2\n3\n4\n5\n");
    const id = scene.waiting("sed -i s/2/two/ lines");
    writeFileSync(file, "1\n2\n3\n4\nfive\n");
    const advice = scene.cli("tx", "commit", id).stderr;
    expect(advice).toContain(`native-runner tx commit ${id}`);
    expect(advice).toContain("--merge` merges texts");
    const { status, stderr } = scene.cli("tx", "commit", id, "--merge");
    expect({ status, text: scene.read("lines") }).toEqual({
      status: 0,
      text: "1\ntwo\n3\n4\nfive\n",
    });
    expect(stderr).toContain("lines was merged with what the workspace had");
    expect(scene.cli("tx", "discard", id).status).toBe(0);
    const again = scene.waiting("sed -i s/two/zwei/ lines");
    writeFileSync(file, "1\ndeux\n3\n4\nfive\n");
    const refused = scene.cli("tx", "commit", again, "--merge");
    expect(refused.status).toBe(121);
    expect(refused.stderr).toMatch(
      /nothing was committed: this can't be merged:\n {2}lines: both have changed the lines from line 2 on\n/,
    );
    const json = JSON.parse(scene.cli("tx", "commit", again, "--merge", "--json").stdout);
    expect(json).toMatchObject({ error: { conflicts: [{ path: "lines" }] } });
    expect(scene.read("lines")).toContain("deux");
  });

  test("what is protected is committed only by name", () => {
    const id = scene.waiting("mkdir -p .git/hooks; echo x > .git/hooks/pre-commit; echo y > c");
    const { status, stderr } = scene.cli("tx", "commit", id);
    expect(status).toBe(122);
    expect(stderr).toContain("\n  .git/hooks\n  .git/hooks/pre-commit\nfix: ");
    expect(readdirSync(scene.workspace)).toEqual(["a.txt"]);
    expect(scene.cli("tx", "commit", id, "--allow-protected", ".git/hooks").status).toBe(0);
    expect(scene.read(".git/hooks/pre-commit")).toBe("x\n");
  });

  test("an id that there is not, that is none, or that is the beginning of several", () => {
    const missing = scene.cli("tx", "show", "000000000000");
    expect(missing.status).toBe(120);
    expect(missing.stderr).toMatch(/there is no transaction 000000000000\nfix: /);
    expect(scene.cli("tx", "show", "../../etc").status).toBe(2);
    expect(scene.cli("tx", "show", "").status).toBe(2);
    for (let i = 0; i < 17; i += 1) expect(scene.run([], kEdit).status).toBe(0);
    const several = scene
      .ids()
      .find((id) => scene.ids().filter((other) => other[0] === id[0]).length > 1);
    const ambiguous = scene.cli("tx", "show", several?.[0] ?? "");
    expect(ambiguous.status).toBe(2);
    expect(ambiguous.stderr).toContain(`several transactions: `);
    expect(ambiguous.stderr).toContain(several);
  }, 120_000);

  test("one that another process has open is told of, and left alone", async () => {
    const runner = new BubblewrapNativeRunner({ shadowDir: scene.workspace, prewarm: 0 });
    const directory = join(scene.state, "openagentic/transactions");
    const transaction = await runner.openTransaction({ directory });
    expect(scene.cli("tx", "list").stdout).toContain(`${transaction.id}  open`);
    for (const name of ["show", "diff", "commit", "undo", "discard"]) {
      const { status, stderr } = scene.cli("tx", name, transaction.id);
      expect(status, name).toBe(123);
      expect(stderr).toContain("is open in another process");
    }
    await transaction.exec({ argv: ["true"] });
    await transaction.discard();
  });

  test("another directory is had by --state-directory, everywhere", () => {
    const place = ["--state-directory", "../elsewhere"];
    const { stderr } = scene.run(place, kEdit);
    const elsewhere = join(scene.workspace, "../elsewhere");
    const [id = ""] = readdirSync(elsewhere);
    expect(stderr).toContain(`discard ${id} --state-directory ${elsewhere}`);
    expect(scene.cli("tx", "list").stdout).toBe("no transactions\n");
    expect(scene.cli("tx", "list", ...place).stdout).toContain(id);
    expect(scene.cli("tx", "show", id).status).toBe(120);
    expect(scene.cli("tx", "commit", id, ...place).status).toBe(0);
    expect(scene.cli("tx", "undo", id, ...place).status).toBe(0);
    expect(scene.cli("tx", "discard", id, ...place).status).toBe(0);
  });
});
