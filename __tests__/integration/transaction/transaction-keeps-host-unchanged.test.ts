/** A transaction's commands work on the project; what they change is not the host's. */

import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { kKindsOfRuns, prepared } from "../support/kinds-of-runs.js";
import { BubblewrapNativeRunner, type SandboxedExecResult } from "../support/package.js";
import { describeSandboxed } from "../support/requirements.js";
import { run, text } from "../support/results.js";
import { tempDirectory } from "../support/temp.js";
import {
  describeBackends,
  openTransaction,
  project,
  stateDirectory,
  treeOf,
} from "../support/transactions.js";

/** What a command may do to a project, and what the next one must see of it. */
const kChanges: [string, string, string, string][] = [
  ["writes a file", "echo new > a.txt", "cat a.txt", "new"],
  ["appends to a file", "echo more >> a.txt", "cat a.txt", "one\nmore"],
  ["makes a file", "echo made > made.txt", "cat made.txt", "made"],
  ["removes a file", "rm gone.txt", "ls gone.txt 2>/dev/null || echo none", "none"],
  ["renames a file", "mv a.txt moved.txt", "ls a.txt moved.txt 2>/dev/null", "moved.txt"],
  ["renames over a file", "mv a.txt b.txt", "cat b.txt", "one"],
  ["makes directories", "mkdir -p x/y && echo d > x/y/z", "cat x/y/z", "d"],
  ["removes a directory", "rm -r dir", "ls dir 2>/dev/null || echo none", "none"],
  ["makes it anew", "rm -r dir; mkdir dir; echo n > dir/new", "ls dir", "new"],
  ["writes in a directory", "echo in > dir/inner.txt", "cat dir/inner.txt", "in"],
  ["makes a link", "ln -s a.txt to", "readlink to", "a.txt"],
  ["writes through a link", "echo t > link", "cat dir/inner.txt", "t"],
  ["replaces a link", "rm link; echo plain > link", "cat link", "plain"],
  ["changes a mode", "chmod 700 a.txt", "stat -c %a a.txt", "700"],
  ["changes a time", "touch -d @1000 a.txt", "stat -c %Y a.txt", "1000"],
  ["cuts a file", "truncate -s 1 a.txt", "cat a.txt", "o"],
  ["makes a hard link", "ln a.txt hard && echo x >> hard", "cat hard a.txt", "one\nx\none\nx"],
  ["makes a FIFO", "mkfifo pipe", "test -p pipe && echo fifo", "fifo"],
  ["changes the root's mode", "chmod 750 .", "stat -c %a .", "750"],
  ["edits in place", "sed -i s/one/1/ a.txt", "cat a.txt", "1"],
];

function changing(): string {
  const workspace = project();
  mkdirSync(join(workspace, "dir"));
  writeFileSync(join(workspace, "dir/inner.txt"), "inner\n");
  symlinkSync("dir/inner.txt", join(workspace, "link"));
  return workspace;
}

describeBackends("a transaction", (openTransaction, backend) => {
  test.each(kChanges)(
    "%s: the next command sees it, the host does not",
    async (_, script, look, seen) => {
      const workspace = changing();
      const before = treeOf(workspace);
      const { transaction } = await openTransaction(workspace);
      expect(await run(transaction, script)).toMatchObject({ exitCode: 0, err: "" });
      expect(await run(transaction, look)).toMatchObject({ out: seen });
      expect(treeOf(workspace)).toEqual(before);
      await transaction.discard();
      expect(treeOf(workspace)).toEqual(before);

      const plain = new BubblewrapNativeRunner({ shadowDir: workspace, prewarm: 0 });
      expect(await run(plain, script), "the control").toMatchObject({ exitCode: 0, err: "" });
      expect(await run(plain, look)).toMatchObject({ out: seen });
    },
  );

  test("shows the host's files with their modes, owners, times and links", async () => {
    const workspace = changing();
    const { transaction, runner } = await openTransaction(workspace);
    const look = "find . -printf '%p %y %m %U:%G %s %T@ %l\\n' | sort; cat *.txt";
    const { out } = await run(runner, look);
    expect(out).toContain("./a.txt");
    expect((await run(transaction, look)).out).toBe(out);
    await transaction.discard();
  });

  test("is the same for every kind of run", async () => {
    const workspace = prepared();
    const { transaction, runner } = await openTransaction(workspace, { required: ["seccomp"] });
    await expect(run(runner, ["true"])).resolves.toMatchObject({ kind: "exited" });
    const session = await transaction.openSession();
    await run(session, "echo session > session.txt");
    const live = await transaction.spawn({ argv: ["sh", "-c", "echo live > live.txt"] });
    expect((await live.result).outcome.kind).toBe("exited");
    await transaction.execBatch([
      ["touch", "batch1.txt"],
      ["touch", "batch2.txt"],
    ]);
    await session.close();
    const seen = "batch1.txt\nbatch2.txt\nlive.txt\nscript\nsession.txt\nsub";
    expect(await run(transaction, "ls")).toMatchObject({ out: seen });
    expect(readdirSync(workspace).sort()).toEqual(["script", "sub"]);
    await transaction.discard();
  });

  test("has standing sandboxes of its own, which see what came later", async () => {
    const { transaction, runner, workspace } = await openTransaction(project(), { prewarm: 1 });
    expect(await transaction.warm()).toBe(1);
    expect(await runner.warm()).toBe(1);
    const session = await transaction.openSession();
    await run(session, "echo later > a.txt");
    const inside = await run(transaction, "cat a.txt; echo warm > b.txt");
    expect(inside).toMatchObject({ out: "later", result: { audits: [{ prewarmed: true }] } });
    const outside = await run(runner, "cat a.txt b.txt");
    expect(outside).toMatchObject({ out: "one\ntwo", result: { audits: [{ prewarmed: true }] } });
    expect(readFileSync(join(workspace, "b.txt"), "utf8")).toBe("two\n");
    await transaction.discard();
    await runner.close();
  });

  test("ends each kind of run as outside of it", async () => {
    const ofTransactions = [`transaction:${backend}`, "rename-directories"];
    const workspace = prepared();
    // A transaction's home is on disk, and another one's in memory.
    const { transaction, runner, state } = await openTransaction(workspace, { home: "none" });
    const copy = join(state, transaction.id, "tree");
    /** Without what is measured, and where its sandbox came from. */
    const comparable = ({ usage: _, audits, stdout, stderr, ...rest }: SandboxedExecResult) => ({
      ...rest,
      stdout: text(stdout).replace(/Seccomp_filters.*/, ""), // renames have one of their own
      stderr: text(stderr),
      audits: audits.map(
        ({
          durationMs,
          usage,
          timing,
          layers,
          argv,
          start,
          coldReason,
          namespaces,
          transaction: _in,
          ...record
        }) => ({
          ...record,
          start: undefined,
          coldReason: undefined,
          prewarmed: undefined,
          argv: argv.map((word) => (word === copy ? workspace : word)),
          layers: layers.filter((layer) => !ofTransactions.includes(layer)),
        }),
      ),
    });
    for (const [name, input] of kKindsOfRuns) {
      const outside = comparable(await runner.exec(input));
      expect(comparable(await transaction.exec(input)), name).toEqual(outside);
    }
    await transaction.discard();
  });

  test("is told by its audits, and can be required", async () => {
    const layer = `transaction:${backend}`;
    const { transaction, runner } = await openTransaction(project(), { required: [layer] });
    const inside = await run(transaction, ["true"]);
    expect(inside.result.audits[0]?.layers).toContain(layer);
    const session = await transaction.openSession();
    expect(session.layers).toContain(layer);
    const outside = await run(runner, ["true"]);
    expect(outside).toMatchObject({ kind: "setup-failed" });
    expect(outside.err).toContain(layer);
    await transaction.discard();
  });

  test("has its own changes beside another's", async () => {
    const workspace = project();
    const one = await openTransaction(workspace);
    const other = await openTransaction(workspace);
    await run(one.transaction, "echo 1 > a.txt; touch only-one");
    await run(other.transaction, "echo 2 > a.txt");
    expect(await run(one.transaction, "cat a.txt; ls")).toMatchObject({
      out: "1\na.txt\nb.txt\ngone.txt\nonly-one\nrun.sh",
    });
    expect(await run(other.transaction, "cat a.txt; ls")).toMatchObject({
      out: "2\na.txt\nb.txt\ngone.txt\nrun.sh",
    });
    await one.transaction.discard();
    await other.transaction.discard();
  });

  test("has commands at once, each seeing the other's files", async () => {
    const { transaction } = await openTransaction();
    const waits = (own: string, other: string) =>
      `touch ${own}; until test -e ${other}; do sleep 0.05; done; echo met`;
    const both = [run(transaction, waits("a", "b")), run(transaction, waits("b", "a"))];
    for (const { out } of await Promise.all(both)) expect(out).toBe("met");
    await transaction.discard();
  });
});

describeSandboxed("an overlay", () => {
  const openOverlay = (workspace?: string) => openTransaction(workspace, {}, "overlay");

  test("shows what the host writes into a file in place", async () => {
    const { transaction, workspace } = await openOverlay(project());
    expect(await run(transaction, "cat a.txt")).toMatchObject({ out: "one" });
    writeFileSync(join(workspace, "a.txt"), "edited\n");
    expect(await run(transaction, "cat a.txt")).toMatchObject({ out: "edited" });
    await transaction.discard();
  });

  test("tells no command where its changes are kept", async () => {
    const { transaction, state, workspace } = await openOverlay();
    const { out } = await run(transaction, "cat /proc/self/mountinfo /proc/self/environ");
    expect(out).toContain("/workspace");
    const home = join(state, transaction.id, "home"); // mounted, and beside them
    expect(out).toContain(home);
    expect(out.replaceAll(home, "")).not.toContain(state);
    expect(out).not.toContain(workspace);
    await transaction.discard();
  });
});

describeBackends("the end of a transaction", (openTransaction, backend) => {
  test("discard leaves nothing, whatever was made", async () => {
    const { transaction, state } = await openTransaction(project());
    const deep = "i=0; while [ $i -lt 300 ]; do mkdir d; chmod 500 .; cd d; i=$((i+1)); done";
    const odd =
      "mkdir shut; touch shut/in; chmod 0 shut; touch \"$(printf 'a\\nb\\377')\"; mkfifo p";
    expect(await run(transaction, `${odd}; mkdir deep; cd deep; ${deep}`)).toMatchObject({
      exitCode: 0,
    });
    expect(readdirSync(state)).toEqual([transaction.id]);
    await transaction.discard();
    expect(readdirSync(state)).toEqual([]);
    await transaction.discard();
  });

  test("close keeps it, and ends what runs in it", async () => {
    const { transaction, state } = await openTransaction(project());
    const running = run(transaction, "echo kept > a.txt; sleep 1000");
    const changed = join(state, transaction.id, backend === "copy" ? "tree" : "upper", "a.txt");
    const text = () => (existsSync(changed) ? readFileSync(changed, "utf8") : "");
    await expect.poll(text).toBe("kept\n");
    await transaction.close();
    expect(await running).toMatchObject({ kind: "aborted" });
    expect(text()).toBe("kept\n");
    const closed = { code: "ERR_SANDBOX_CLOSED", message: "the transaction was closed" };
    await expect(run(transaction, ["true"])).rejects.toMatchObject(closed);
    await expect(transaction.openSession()).rejects.toMatchObject({ code: closed.code });
    await transaction.discard();
    expect(readdirSync(state)).toEqual([]);
  });

  test("a runner that is closed closes its transactions, and opens no other", async () => {
    const { transaction, runner, state } = await openTransaction();
    await runner.close();
    const closed = { code: "ERR_SANDBOX_CLOSED" };
    await expect(run(transaction, ["true"])).rejects.toMatchObject(closed);
    await expect(runner.openTransaction({ directory: state })).rejects.toMatchObject(closed);
    expect(readdirSync(state)).toEqual([transaction.id]);
  });

  test("`await using` discards it", async () => {
    const state = stateDirectory();
    const runner = new BubblewrapNativeRunner({ shadowDir: tempDirectory() });
    {
      await using transaction = await runner.openTransaction({ directory: state });
      await run(transaction, "echo x > x");
      expect(readdirSync(state)).toHaveLength(1);
    }
    expect(readdirSync(state)).toEqual([]);
  });
});
