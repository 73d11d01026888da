// As root too: whose files a lease is granted on differs for root.
/** A file that a commit has brought to the host is one that no command reaches any more. */

import {
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";

import { BubblewrapNativeRunner, type CommitOptions } from "../../support/package.js";
import { buildProbe } from "../../support/probe.js";
import { run } from "../../support/results.js";
import { tempDirectory } from "../../support/temp.js";
import { describeBackends, type Opened, project } from "../../support/transactions.js";

type Case = {
  make: string;
  commit?: CommitOptions;
  /** On the host after the commit. */
  path: string;
  /** Changes the file by another name. */
  meddle: string;
  /** What is a change of the transaction's then. */
  changed: string[];
};

const kEvil = (path: string) => `echo EVIL >> ${path}; chmod 777 ${path}`;

const kCases: [string, Case][] = [
  [
    "the host's file under a second name",
    { make: "ln a.txt b", path: "b", meddle: kEvil("a.txt"), changed: ["a.txt"] },
  ],
  [
    "one of two new names",
    {
      make: "echo x > one; ln one two",
      commit: { paths: ["one"] },
      path: "one",
      meddle: kEvil("two"),
      changed: ["two"],
    },
  ],
  [
    "both of two new names",
    { make: "echo x > one; ln one two", path: "one", meddle: kEvil("two"), changed: ["two"] },
  ],
  [
    "a tree of links",
    { make: "cp -al dir copy", path: "copy/x", meddle: kEvil("dir/x"), changed: ["dir/x"] },
  ],
  [
    "a second name in a directory that stays",
    {
      make: "mkdir kept; echo x > kept/one; ln kept/one two",
      commit: { paths: ["two"] },
      path: "two",
      meddle: kEvil("kept/one"),
      changed: ["kept", "kept/one"],
    },
  ],
  [
    "a second name of what takes the place of the host's file",
    {
      make: "echo x > one; ln -f one a.txt",
      commit: { paths: ["a.txt"] },
      path: "a.txt",
      meddle: kEvil("one"),
      changed: ["one"],
    },
  ],
  [
    "an approved hook",
    {
      make: "mkdir -p .git/hooks; echo '#!/bin/sh' > h; chmod 755 h; ln h .git/hooks/pre-commit",
      commit: { paths: [".git"], allowProtected: [".git"] },
      path: ".git/hooks/pre-commit",
      meddle: "echo EVIL >> h",
      changed: ["h"],
    },
  ],
  [
    "a symbolic link",
    {
      make: "ln -s a.txt one; ln -P one two",
      commit: { paths: ["one"] },
      path: "one",
      meddle: "touch -h -d @1 two",
      changed: ["two"],
    },
  ],
];

const projectWithTree = () => {
  const workspace = project();
  mkdirSync(join(workspace, "dir"));
  writeFileSync(join(workspace, "dir/x"), "x\n");
  return workspace;
};

/** All that a write, a chmod or a touch would change. */
function stateOf(path: string) {
  const { ino, mode, size, mtimeMs, uid } = lstatSync(path);
  return { ino, mode, size, mtimeMs, uid, contents: readFileSync(path, "utf8") };
}

async function resumed({ transaction, workspace, state }: Opened) {
  await transaction.close();
  const runner = new BubblewrapNativeRunner({ shadowDir: workspace, prewarm: 0 });
  return runner.resumeTransaction(transaction.id, { directory: state });
}

describeBackends("a file of two names", (openTransaction) => {
  test.each(kCases)("%s is the host's alone once it is committed", async (_, one) => {
    const { transaction, workspace } = await openTransaction(projectWithTree());
    expect(await run(transaction, one.make)).toMatchObject({ exitCode: 0 });
    await transaction.commit(one.commit);
    const host = join(workspace, one.path);
    const before = stateOf(host);
    expect(await run(transaction, one.meddle)).toMatchObject({ exitCode: 0 });
    expect(stateOf(host)).toEqual(before);
    const changed = (await transaction.changes()).map(({ path }) => path);
    expect(changed).toEqual(expect.arrayContaining(one.changed)); // in a copy both names
    await transaction.commit({ paths: one.changed });
    const brought = join(workspace, one.changed.at(-1) ?? "");
    if (one.meddle.includes("EVIL")) expect(readFileSync(brought, "utf8")).toContain("EVIL");
    await transaction.discard();
  });

  test.each(kCases)("%s is so after another has taken it up", async (_, one) => {
    const opened = await openTransaction(projectWithTree());
    await run(opened.transaction, one.make);
    const second = await resumed(opened);
    await second.commit(one.commit);
    const third = await resumed({ ...opened, transaction: second });
    const host = join(opened.workspace, one.path);
    const before = stateOf(host);
    expect(await run(third, one.meddle)).toMatchObject({ exitCode: 0 });
    expect(stateOf(host)).toEqual(before);
    await third.discard();
  });

  // What was committed itself is not changed.
  const kLeft = kCases.filter(([, { commit, make }]) => commit || /a.txt b|cp/.test(make));
  test.each(kLeft)("%s is taken back although it was changed since", async (_, one) => {
    const { transaction, workspace } = await openTransaction(projectWithTree());
    await run(transaction, one.make);
    const existed = existsSync(join(workspace, one.path));
    const before = existed ? stateOf(join(workspace, one.path)) : undefined;
    await transaction.commit(one.commit);
    await run(transaction, one.meddle);
    await transaction.undo();
    if (before) expect(stateOf(join(workspace, one.path))).toEqual(before);
    else expect(existsSync(join(workspace, one.path))).toBe(false);
    expect((await transaction.changes()).map(({ path }) => path)).toContain(one.path);
    await transaction.commit({ allowProtected: ["."] });
    await transaction.discard();
  });

  test.each(["ln a.txt b", "cp -al dir copy"])(
    "%s: what the host writes then is nobody's change",
    async (make) => {
      const { transaction, workspace } = await openTransaction(projectWithTree());
      await run(transaction, make);
      await transaction.commit();
      const [first, second] = (make.includes("dir") ? ["dir/x", "copy/x"] : ["a.txt", "b"]).map(
        (name) => join(workspace, name),
      ) as [string, string];
      writeFileSync(second, "of the host\n", { flag: "a" });
      const written = [stateOf(first), stateOf(second)];
      expect(await transaction.changes()).toEqual([]);
      expect((await transaction.commit()).committed).toEqual([]);
      expect([stateOf(first), stateOf(second)]).toEqual(written);
      // The control: a command's edit of the other name is one.
      await run(transaction, "echo mine >> a.txt");
      expect((await transaction.changes()).map(({ path }) => path)).toContain("a.txt");
      await transaction.discard();
    },
  );

  test("has both of them on the host, where both are committed", async () => {
    const { transaction, workspace } = await openTransaction(project());
    await run(transaction, "echo x > one; ln one two");
    await transaction.commit();
    const [one, two] = ["one", "two"].map((name) => statSync(join(workspace, name)));
    expect(one?.ino).toBe(two?.ino);
    expect(one?.nlink).toBe(2);
    await transaction.discard();
  });
});

const upperOf = ({ state, transaction }: Opened, name: string) =>
  join(state, transaction.id, transaction.backend === "copy" ? "tree" : "upper", name);

let tools = "";
beforeAll(() => {
  tools = tempDirectory("tools");
  buildProbe(tools);
});

describeBackends("a file that is open", (openTransaction, backend) => {
  /** Passes a descriptor to a command of another runner, by a directory that both may write to. */
  async function passedOn(mode: string) {
    const shared = tempDirectory("shared");
    const mounts = [
      { hostPath: shared, guestPath: "/shared", mode: "rw" as const },
      { hostPath: tools, guestPath: "/tools", mode: "ro" as const },
    ];
    const opened = await openTransaction(project(), { mounts });
    const holder = new BubblewrapNativeRunner({ shadowDir: tempDirectory(), prewarm: 0, mounts });
    const name = mode === "dir" ? "b" : "/none";
    const held = run(
      holder,
      `/tools/probe use-descriptor /shared/socket /shared/got /shared/go ${name}`,
    );
    const pass = `until [ -e /shared/socket ]; do sleep 0.05; done; /tools/probe pass-descriptor /shared/socket ${mode === "dir" ? "." : "b"} ${mode}`;
    expect(await run(opened.transaction, `echo b > b; ${pass}`)).toMatchObject({ out: "OK" });
    await expect.poll(() => existsSync(join(shared, "got")), { timeout: 20_000 }).toBe(true);
    const write = async () => {
      writeFileSync(join(shared, "go"), "");
      const seen = await held;
      await holder.close();
      return seen.out;
    };
    return { ...opened, write };
  }

  test.each(["rw", "ro", "path", "dir"])(
    "by a descriptor that was passed on (%s) is not the host's",
    async (mode) => {
      const { transaction, workspace, write } = await passedOn(mode);
      await transaction.commit();
      expect(readFileSync(join(workspace, "b"), "utf8")).toBe("b\n");
      const before = stateOf(join(workspace, "b"));
      const wrote = await write();
      if (backend === "overlay") expect(wrote).toBe("OK");
      expect(stateOf(join(workspace, "b"))).toEqual(before);
      await transaction.discard();
    },
  );

  test("by a descriptor from before an earlier commit is not the host's", async () => {
    const { transaction, workspace, write } = await passedOn("dir");
    await transaction.commit({ paths: ["none"] });
    await run(transaction, "echo c > a.txt");
    await transaction.commit({ paths: ["a.txt"] });
    await transaction.commit();
    const before = stateOf(join(workspace, "b"));
    await write();
    expect(stateOf(join(workspace, "b"))).toEqual(before);
    await transaction.discard();
  });

  test("by a process of the host's is copied", async () => {
    const opened = await openTransaction(project());
    const { transaction, workspace } = opened;
    await run(transaction, "echo b > b");
    const file = openSync(upperOf(opened, "b"), "a");
    await transaction.commit();
    writeSync(file, "EVIL\n");
    closeSync(file);
    expect(readFileSync(join(workspace, "b"), "utf8")).toBe("b\n");
    await transaction.discard();
  });

  test("by nobody is moved by an overlay, and copied by a copy", async () => {
    const opened = await openTransaction(project());
    const { transaction, workspace } = opened;
    for (const name of ["a.txt", "b", "dir/c"]) {
      await run(transaction, `mkdir -p dir; echo x > ${name}`);
      const { ino } = statSync(upperOf(opened, name));
      await transaction.commit();
      expect(statSync(join(workspace, name)).ino === ino).toBe(backend === "overlay");
    }
    await transaction.discard();
  });

  test("may be anybody's after a death, and nobody's after a close", async () => {
    const opened = await openTransaction(project());
    await run(opened.transaction, "echo x > one; echo x > two; echo x > three");
    const inodeOf = (name: string) => statSync(upperOf(opened, name)).ino;
    const [one, two] = [inodeOf("one"), inodeOf("two")];
    const second = await resumed(opened);
    await second.commit({ paths: ["one"] });
    const isMoved = statSync(join(opened.workspace, "one")).ino === one;
    expect(isMoved).toBe(backend === "overlay");
    await second.close();
    rmSync(join(opened.state, second.id, "unmounted"), { force: true }); // as a death leaves it
    const third = await resumed({ ...opened, transaction: second });
    await third.commit({ paths: ["two"] });
    expect(statSync(join(opened.workspace, "two")).ino).not.toBe(two);
    expect(readFileSync(join(opened.workspace, "two"), "utf8")).toBe("x\n");
    await third.discard();
  });
});
