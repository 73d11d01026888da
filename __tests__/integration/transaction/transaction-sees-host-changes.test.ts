// As root too: owners, modes and mounts differ for root.
/** What is begun in a transaction sees the host's files as they are then, and goes on after a commit. */

import {
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import type { NativeSession, Transaction } from "../support/package.js";
import { describeSandboxed, isRoot, testUnless } from "../support/requirements.js";
import { run } from "../support/results.js";
import { openTransaction, pastTick, project } from "../support/transactions.js";

/** What the host does, and what a command must see that has seen all of it before. */
const kEdits: [string, (at: (name: string) => string) => void][] = [
  ["replaces a file", (at) => renameSync(at("b.txt"), at("a.txt"))],
  ["removes a file", (at) => rmSync(at("a.txt"))],
  ["makes a file that was looked for", (at) => writeFileSync(at("dir/none"), "made\n")],
  ["renames a file", (at) => renameSync(at("a.txt"), at("dir/none"))],
  ["gives a file a second name", (at) => linkSync(at("a.txt"), at("dir/none"))],
  [
    "makes a directory of a file",
    (at) => {
      rmSync(at("a.txt"));
      mkdirSync(at("a.txt"));
    },
  ],
  [
    "replaces a link",
    (at) => {
      rmSync(at("link"));
      symlinkSync("dir", at("link"));
    },
  ],
  ["moves a directory", (at) => renameSync(at("dir/deep"), at("deep"))],
  [
    "replaces a directory",
    (at) => {
      renameSync(at("dir"), at("old"));
      mkdirSync(at("dir"));
      writeFileSync(at("dir/none"), "new\n");
    },
  ],
  ["removes a directory", (at) => rmSync(at("dir"), { recursive: true })],
  ["makes directories", (at) => mkdirSync(at("dir/none/deeper"), { recursive: true })],
  ["changes a mode", (at) => chmodSync(at("run.sh"), 0o777)],
  ["writes in place", (at) => writeFileSync(at("a.txt"), "other\n")],
];

const kLook =
  "for i in a.txt b.txt dir/none dir/deep/x deep/x old/none link; do " +
  "echo $i; cat $i 2>&1; done; ls -R; stat -c '%n %a' *; test -x run.sh && echo may";

function workspaceOf(): string {
  const workspace = project();
  mkdirSync(join(workspace, "dir/deep"), { recursive: true });
  writeFileSync(join(workspace, "dir/deep/x"), "x\n");
  symlinkSync("a.txt", join(workspace, "link"));
  return workspace;
}

/** Each way to begin something; what it gives is what the look has printed. */
const kWays: [string, (transaction: Transaction, session: NativeSession) => Promise<string>][] = [
  ["a run", async (transaction) => (await run(transaction, kLook)).out],
  ["a session's command", async (_, session) => (await run(session, kLook)).out],
  [
    "a live process",
    async (transaction) => {
      const live = await transaction.spawn({ argv: ["sh", "-c", kLook] });
      let out = "";
      for await (const chunk of live.stdout) out += Buffer.from(chunk).toString();
      await live.result;
      return out.replace(/\n$/, "");
    },
  ],
];

describeSandboxed("what the host changes while a transaction is open", () => {
  test.each(kEdits)("is seen by what is begun after it %s", async (_, edit) => {
    for (const [way, look] of kWays) {
      const workspace = workspaceOf();
      const { transaction, runner } = await openTransaction(workspace, { prewarm: 1 });
      const session = await transaction.openSession();
      const before = (await run(runner, kLook)).out;
      expect(await look(transaction, session), "the control").toBe(before);
      expect(await look(transaction, session)).toBe(before);
      edit((name) => join(workspace, name));
      const after = (await run(runner, kLook)).out;
      expect(after).not.toBe(before);
      expect(await look(transaction, session), way).toBe(after);
      await transaction.discard();
      await runner.close();
    }
  });

  test("is seen by its files", async () => {
    const workspace = workspaceOf();
    const { transaction } = await openTransaction(workspace);
    await run(transaction, kLook);
    expect(await transaction.files.readText("a.txt")).toBe("one\n");
    renameSync(join(workspace, "b.txt"), join(workspace, "a.txt"));
    expect(await transaction.files.readText("a.txt")).toBe("two\n");
    await expect(transaction.files.read("b.txt")).rejects.toMatchObject({ code: "ENOENT" });
    await transaction.discard();
  });

  test("is seen again and again, by all that begin at once", async () => {
    const workspace = workspaceOf();
    const { transaction } = await openTransaction(workspace);
    for (let round = 0; round < 15; round += 1) {
      writeFileSync(join(workspace, "next"), `${round}`);
      renameSync(join(workspace, "next"), join(workspace, "a.txt"));
      mkdirSync(join(workspace, `dir/${round}`));
      writeFileSync(join(workspace, `dir/${round}/new`), "");
      const looks = [1, 2, 3].map(() => run(transaction, `cat a.txt; ls dir/${round}`));
      for (const { out } of await Promise.all(looks)) expect(out).toBe(`${round}new`);
    }
    await transaction.discard();
  });

  test("is not seen where a command has changed it itself", async () => {
    const workspace = workspaceOf();
    const { transaction } = await openTransaction(workspace);
    await run(transaction, "echo mine > a.txt; rm b.txt");
    renameSync(join(workspace, "run.sh"), join(workspace, "a.txt"));
    writeFileSync(join(workspace, "new"), "");
    renameSync(join(workspace, "new"), join(workspace, "b.txt"));
    const { out } = await run(transaction, "cat a.txt; ls");
    expect(out).toBe("mine\na.txt\ndir\ngone.txt\nlink");
    await transaction.discard();
  });

  test("leaves alone what a command has open", async () => {
    const workspace = workspaceOf();
    const { transaction } = await openTransaction(workspace);
    const script = "exec 3< a.txt; echo open; read go; cat <&3; cat dir/deep/x";
    const live = await transaction.spawn({ argv: ["sh", "-c", script] });
    const chunks = live.stdout[Symbol.asyncIterator]();
    expect(Buffer.from((await chunks.next()).value ?? "").toString()).toBe("open\n");
    renameSync(join(workspace, "b.txt"), join(workspace, "a.txt"));
    writeFileSync(join(workspace, "y"), "y\n");
    renameSync(join(workspace, "y"), join(workspace, "dir/deep/x"));
    await run(transaction, "true");
    await live.stdin.write("go\n");
    let out = "";
    for (let next = await chunks.next(); !next.done; next = await chunks.next())
      out += Buffer.from(next.value).toString();
    expect(out).toBe("one\ny\n");
    await live.result;
    await transaction.discard();
  });

  test.each(["nothing to commit", "a conflict", "what is protected"])(
    "is seen after a commit of which nothing came: %s",
    async (why) => {
      const workspace = workspaceOf();
      const { transaction } = await openTransaction(workspace, {}, "overlay");
      if (why === "a conflict") {
        await run(transaction, "echo mine > gone.txt");
        writeFileSync(join(workspace, "gone.txt"), "host's");
      }
      if (why === "what is protected") await run(transaction, "echo x > .envrc");
      await run(transaction, "cat a.txt");
      renameSync(join(workspace, "b.txt"), join(workspace, "a.txt"));
      await transaction.commit().catch(() => {});
      const { out } = await run(transaction, "cat a.txt; echo more >> a.txt");
      expect(out).toBe("two");
      await transaction.discard();
    },
  );

  test("before a command is begun is no conflict, though a standing sandbox is there", async () => {
    const workspace = workspaceOf();
    const { transaction } = await openTransaction(workspace, { prewarm: 1 }, "overlay");
    await transaction.warm();
    await run(transaction, "echo x > first");
    await run(transaction, "true"); // after which the host is watched
    mkdirSync(join(workspace, "theirs"));
    await pastTick();
    await run(transaction, "echo mine > made; echo mine > dir/deep/made");
    const reported = (await transaction.changes()).map(({ path, conflict }) => [path, conflict]);
    expect(reported).toEqual([
      ["dir/deep/made", undefined],
      ["first", undefined],
      ["made", undefined],
    ]);
    await transaction.discard();
  });

  testUnless(
    isRoot ? "root can read all" : undefined,
    "is seen where it can't be watched",
    async () => {
      const workspace = workspaceOf();
      mkdirSync(join(workspace, "shut"));
      chmodSync(join(workspace, "shut"), 0o300);
      const { transaction } = await openTransaction(workspace);
      for (let round = 0; round < 5; round += 1) {
        writeFileSync(join(workspace, "next"), `${round}`);
        renameSync(join(workspace, "next"), join(workspace, "a.txt"));
        expect(await run(transaction, "cat a.txt")).toMatchObject({ out: `${round}` });
      }
      await transaction.discard();
      chmodSync(join(workspace, "shut"), 0o700);
    },
  );
});

describeSandboxed("after a commit", () => {
  test("commands run on, on what was committed", async () => {
    const { transaction, workspace } = await openTransaction(project(), { prewarm: 1 });
    await run(
      transaction,
      "echo mine > a.txt; mkdir -p new/deep; echo x > new/deep/x; rm gone.txt",
    );
    await transaction.commit();
    const look = "cat a.txt new/deep/x; ls";
    const seen = "mine\nx\na.txt\nb.txt\nnew\nrun.sh";
    expect(await run(transaction, look)).toMatchObject({ out: seen });
    expect(await transaction.changes()).toEqual([]);
    await run(transaction, "echo more >> a.txt; echo y > new/deep/y; rm -r new/deep/x");
    expect(readFileSync(join(workspace, "a.txt"), "utf8")).toBe("mine\n");
    const changes = (await transaction.changes()).map(({ kind, path }) => `${kind} ${path}`);
    expect(changes).toEqual(["modified a.txt", "deleted new/deep/x", "added new/deep/y"]);
    await transaction.commit();
    expect(readFileSync(join(workspace, "a.txt"), "utf8")).toBe("mine\nmore\n");
    expect(readdirSync(join(workspace, "new/deep"))).toEqual(["y"]);
    await transaction.undo();
    expect(await run(transaction, "cat a.txt; ls new/deep")).toMatchObject({
      out: "mine\nmore\ny",
    });
    expect(readFileSync(join(workspace, "a.txt"), "utf8")).toBe("mine\n");
    const again = await transaction.changes();
    expect(again.map(({ kind, path }) => `${kind} ${path}`)).toEqual(changes);
    expect(again.filter(({ conflict }) => conflict)).toEqual([]);
    await transaction.discard();
    expect(readFileSync(join(workspace, "a.txt"), "utf8")).toBe("mine\n");
  });

  test("sessions and what runs have ended, and new ones begin", async () => {
    const { transaction } = await openTransaction(project());
    const session = await transaction.openSession();
    await run(session, "echo mine > a.txt");
    const running = run(transaction, "sleep 1000");
    await transaction.commit();
    expect(await running).toMatchObject({ kind: "aborted" });
    expect(session.isOpen).toBe(false);
    const second = await transaction.openSession();
    expect(await run(second, "cat a.txt")).toMatchObject({ out: "mine" });
    await transaction.discard();
    expect(second.isOpen).toBe(false);
  });

  test("what is begun meanwhile has waited", async () => {
    const { transaction, workspace } = await openTransaction(project());
    await run(transaction, "for i in $(seq 200); do echo $i > f$i; done");
    const committing = transaction.commit();
    const files = transaction.files.readText("f7");
    const seen = await Promise.all([1, 2, 3].map(() => run(transaction, "cat f200; ls | wc -l")));
    await committing;
    for (const each of seen) expect(each).toMatchObject({ kind: "exited", out: "200\n204" });
    expect(await files).toBe("7\n");
    expect(readdirSync(workspace)).toHaveLength(204);
    await transaction.discard();
  });

  test("the file of several names is as the project has it", async () => {
    const workspace = project();
    linkSync(join(workspace, "a.txt"), join(workspace, "second"));
    const { transaction } = await openTransaction(workspace);
    await run(transaction, "echo mine > a.txt");
    expect(await run(transaction, "cat second")).toMatchObject({ out: "one" });
    expect((await transaction.changes()).map(({ path }) => path)).toEqual(["a.txt"]);
    await transaction.commit();
    expect(await run(transaction, "cat a.txt second")).toMatchObject({ out: "mine\none" });
    await transaction.discard();
  });

  test.each(["overlay", "copy"] as const)(
    "an edit in a directory that commands have made anew is a conflict (%s)",
    async (backend) => {
      const workspace = project();
      mkdirSync(join(workspace, "made"));
      for (const name of ["x", "other"]) writeFileSync(join(workspace, "made", name), "host\n");
      const { transaction, runner } = await openTransaction(workspace, {}, backend);
      await run(transaction, "rm -r made");
      await run(transaction, "mkdir made; echo n > made/new");
      await pastTick();
      writeFileSync(join(workspace, "made/x"), "edited by the host\n");
      await pastTick();
      await run(transaction, "echo mine > made/x; echo mine > made/other");
      const conflicts = (await transaction.changes()).filter(({ conflict }) => conflict);
      expect(conflicts.map(({ path }) => path)).toContain("made/x");
      expect(conflicts.map(({ path }) => path)).not.toContain("made/other"); // the control
      await expect(transaction.commit()).rejects.toMatchObject({
        code: "ERR_TRANSACTION_CONFLICT",
      });
      expect(readFileSync(join(workspace, "made/x"), "utf8")).toBe("edited by the host\n");
      await transaction.discard();
      await runner.close();
    },
  );
});
