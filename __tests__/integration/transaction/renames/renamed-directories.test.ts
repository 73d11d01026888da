/** In a transaction, a directory of the project's is renamed as any other: by one call, by whoever makes it. */

import { spawnSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";

import { kUtf8Names, whyNotHere } from "../../other-hosts/this-engine.js";
import { kNodeInSandbox } from "../../support/node-arguments.js";
import { BubblewrapNativeRunner, type NativeExecInput } from "../../support/package.js";
import { describeSandboxed, testUnless } from "../../support/requirements.js";
import { run } from "../../support/results.js";
import { tempDirectory } from "../../support/temp.js";
import { differences, openTransaction } from "../../support/transactions.js";
import { copyOf } from "../tree-scripts.js";

/** Some of what is in them keeps its owner out, and could not be removed. */
const kMade: string[] = [];
afterEach(() => {
  for (const path of kMade.splice(0)) spawnSync("chmod", ["-R", "u+rwX", path]);
});

function copied(workspace: string): string {
  const copy = copyOf(workspace);
  kMade.push(copy);
  return copy;
}

/** "docs" has a bit of everything that a project may have. */
function withDocs(): string {
  const workspace = tempDirectory();
  kMade.push(workspace);
  mkdirSync(join(workspace, "docs/sub/deep"), { recursive: true });
  mkdirSync(join(workspace, "docs/none"));
  mkdirSync(join(workspace, "full/x"), { recursive: true });
  mkdirSync(join(workspace, "empty"));
  for (const path of ["docs/a.txt", "docs/sub/b.txt", "docs/sub/deep/c.txt", "full/f", "file"]) {
    writeFileSync(join(workspace, path), `${path}\n`);
  }
  writeFileSync(join(workspace, "docs/sub/new\nline"), "odd\n");
  writeFileSync(join(workspace, "docs/run.sh"), "#!/bin/sh\n", { mode: 0o755 });
  writeFileSync(join(workspace, "docs/hole"), "");
  truncateSync(join(workspace, "docs/hole"), 1 << 20);
  symlinkSync("a.txt", join(workspace, "docs/link"));
  symlinkSync("../..", join(workspace, "docs/sub/up"));
  symlinkSync("docs/sub", join(workspace, "through"));
  spawnSync("mkfifo", ["-m", "640", join(workspace, "docs/pipe")]);
  chmodSync(join(workspace, "docs/sub/deep"), 0o555);
  for (const path of ["sub/deep/c.txt", "sub/deep", "sub", "none", "."]) {
    utimesSync(join(workspace, "docs", path), 1_000_000_000, 1_000_000_000);
  }
  return workspace;
}

/** Types, modes, owners, links' targets, sizes. */
const kLook = String.raw`find . \( -type d -printf '%p %y %m %U:%G\n' \) -o -printf '%p %y %m %U:%G %l %s\n' | sort; cat $(find . -name '*.txt' | sort)`;
const kTimes = "stat -c %Y docs*/sub/deep docs*/none docs* docs*/sub/deep/c.txt";

/** A script for Node: each call that fails says how, and the next is made. */
const calls = (text: string) => [
  ...kNodeInSandbox,
  "-e",
  `const fs = require("node:fs");
   const mv = (from, to) => {
     try { fs.renameSync(from, to); console.log(from, to, "done"); }
     catch (error) { console.log(from, to, error.code); }
   };
   ${text}`,
];

const kCalls: [string, string][] = [
  ["to a new name", 'mv("docs", "docs2")'],
  ["there and back, and there", 'mv("docs", "x"); mv("x", "docs"); mv("docs", "y")'],
  ["into another directory", 'mv("docs", "full/docs")'],
  ["out of one", 'mv("docs/sub", "sub"); mv("sub/deep", "docs/deep")'],
  ["over an empty one", 'mv("docs", "empty")'],
  ["over one that has something in it", 'mv("docs", "full")'],
  ["into itself", 'mv("docs", "docs/in"); mv("docs", "docs/sub/deep")'],
  ["over what it is in", 'mv("docs/sub", "docs")'],
  ["over a file, and a file over it", 'mv("docs", "file"); mv("file", "docs")'],
  ["over a link", 'mv("docs", "through"); mv("through", "docs")'],
  ["to where it is", 'mv("docs", "docs"); mv("docs", "./docs/")'],
  ["that is not there", 'mv("nothing", "docs2"); mv("docs", "no/where")'],
  ["with slashes behind", 'mv("docs//", "docs2/")'],
  [
    "by dots",
    'mv("docs/sub/..", "a"); mv("docs/sub/../sub", "full/../b"); mv(".", "c"); mv("", "d")',
  ],
  ["through a link", 'mv("through/deep", "full/deep"); mv("full", "through/full")'],
  ["by a whole path", 'mv(process.cwd() + "/docs", process.cwd() + "/docs2")'],
  [
    "from within",
    'process.chdir("docs/sub"); mv("../sub", "../sub2"); process.chdir("/workspace/full"); mv("../docs", "d")',
  ],
  ["in one that nobody may write to", 'fs.chmodSync("docs", 0o555); mv("docs/sub", "sub")'],
  ["to another file system", 'mv("docs", "/tmp/docs")'],
  ["with a name that is too long", 'mv("docs", "n".repeat(256)); mv("docs", "n".repeat(255))'],
  [
    "after a change in it",
    'fs.rmSync("docs/a.txt"); fs.writeFileSync("docs/n", "n"); mv("docs", "d")',
  ],
  ["after it was made anew", 'fs.renameSync("docs", "old"); fs.mkdirSync("docs"); mv("docs", "d")'],
  [
    "while a file in it is open",
    'const fd = fs.openSync("docs/sub/b.txt", "a"); mv("docs", "d"); fs.writeSync(fd, "more")',
  ],
];

describeSandboxed("a directory of the project is renamed in a transaction", () => {
  test.each(kCalls)("%s: as outside", async (_, text) => {
    const workspace = withDocs();
    const before = copied(workspace);
    const plain = new BubblewrapNativeRunner({ shadowDir: copied(workspace), prewarm: 0 });
    const { transaction } = await openTransaction(workspace);
    const inside = await run(transaction, calls(text));
    expect(inside).toMatchObject({ err: "", exitCode: 0 });
    expect(inside.out).toBe((await run(plain, calls(text))).out);
    const seen = (await run(transaction, kLook)).out;
    expect(seen).toBe((await run(plain, kLook)).out);
    expect(seen).not.toContain(".renaming");
    expect(differences(before, workspace)).toEqual([]);
    await transaction.discard();
  });

  testUnless(whyNotHere(kUtf8Names), "with names of any bytes", async () => {
    const workspace = tempDirectory();
    mkdirSync(Buffer.from(`${workspace}/d\xff/\xfe`, "latin1"), { recursive: true });
    writeFileSync(Buffer.from(`${workspace}/d\xff/\xfe/\x01\xfd`, "latin1"), "odd\n");
    const { transaction } = await openTransaction(workspace);
    const rename = 'fs.renameSync(Buffer.from("d\\xff", "latin1"), Buffer.from("\\xf0", "latin1"))';
    expect(await run(transaction, calls(rename))).toMatchObject({ err: "", exitCode: 0 });
    const look = "find . | LC_ALL=C sort | od -An -c | tr -d ' \n'";
    const seen = ".\\n./360\\n./360/376\\n./360/376/001375\\n";
    expect(await run(transaction, look)).toMatchObject({ out: seen });
    await transaction.discard();
  });

  test("with the times that its directories had", async () => {
    const { transaction } = await openTransaction(withDocs());
    const before = await run(transaction, kTimes);
    expect(before.out).toBe(Array(4).fill("1000000000").join("\n"));
    await run(transaction, calls('mv("docs", "docs2")'));
    expect(await run(transaction, kTimes)).toMatchObject({ out: before.out });
    await transaction.discard();
  });

  const whyNo = (program: string) =>
    spawnSync(program, ["--version"]).error ? `there is no ${program}` : undefined;
  const kTools: [string, string][] = [
    ["python3", 'python3 -c \'import os; os.rename("docs", "docs2")\''],
    ["perl", 'perl -e \'rename("docs", "docs2") or die $!\''],
    ["git", "git init -q . && git add docs && git mv docs docs2 && git status --short | wc -l"],
  ];
  for (const [tool, script] of kTools) {
    testUnless(whyNo(tool), `by ${tool}`, async () => {
      const { transaction } = await openTransaction(withDocs());
      expect(await run(transaction, script)).toMatchObject({ err: "", exitCode: 0 });
      const look = "cat docs2/sub/deep/c.txt; test -e docs || echo gone";
      expect(await run(transaction, look)).toMatchObject({ out: "docs/sub/deep/c.txt\ngone" });
      await transaction.discard();
    });
  }

  testUnless(whyNo("python3"), "with its attributes, and by open directories", async () => {
    const { transaction } = await openTransaction(withDocs());
    const script = `
import os
os.setxattr("docs/sub", "user.kept", b"dir"); os.setxattr("docs/a.txt", "user.kept", b"file")
here = os.open(".", os.O_RDONLY); there = os.open("full", os.O_RDONLY)
os.rename("docs", "docs", src_dir_fd=here, dst_dir_fd=there)
print(os.getxattr("full/docs/sub", "user.kept"), os.getxattr("full/docs/a.txt", "user.kept"))
print(os.stat("full/docs/hole").st_blocks < 100)`;
    const made = await run(transaction, ["python3", "-c", script]);
    expect(made).toMatchObject({ err: "", out: "b'dir' b'file'\nTrue" });
    await transaction.discard();
  });

  const kRename: NativeExecInput = { argv: calls('mv("docs", "docs2")') };
  test.each([
    [{}],
    [{ layers: ["landlock"] as const }],
    [{ prewarm: 1 }],
    [{ required: ["rename-directories"] }],
  ])("in each kind of run, with %j", async (options) => {
    const expectDone = (result: { stdout: Uint8Array } | undefined) =>
      expect(Buffer.from(result?.stdout ?? []).toString()).toBe("docs docs2 done\n");
    const back = calls('mv("docs2", "docs")');
    const { transaction } = await openTransaction(withDocs(), options);
    if ("prewarm" in options) expect(await transaction.warm()).toBe(1);
    const executed = await transaction.exec(kRename);
    expectDone(executed);
    expect(executed.audits[0]?.layers).toContain("rename-directories");
    expect(executed.audits[0]?.prewarmed).toBe("prewarm" in options);
    await transaction.discard();

    for (const way of ["spawn", "batch", "session", "shell"] as const) {
      const { transaction: other } = await openTransaction(withDocs(), options);
      if (way === "spawn") {
        const live = await other.spawn(kRename);
        let out = "";
        for await (const chunk of live.stdout) out += chunk;
        expect(out).toBe("docs docs2 done\n");
        await live.result;
      } else if (way === "batch") {
        const [first, second] = await other.execBatch([kRename, { argv: back }]);
        expectDone(first);
        expect(Buffer.from(second?.stdout ?? []).toString()).toBe("docs2 docs done\n");
      } else {
        const session = await other.openSession(way === "shell" ? { shell: true } : {});
        expect(session.layers).toContain("rename-directories");
        if (way === "shell") {
          const words = (kRename.argv as string[]).map(
            (word) => `'${word.replaceAll("'", "'\\''")}'`,
          );
          expectDone(await session.exec({ argv: ["sh", "-c", words.join(" ")] }));
        } else {
          expectDone(await session.exec(kRename));
          expectDone(await session.exec({ argv: back }).then(() => session.exec(kRename)));
        }
        await session.close();
      }
      await other.discard();
    }
  });

  test("can be required there, and nowhere else", async () => {
    const required = ["rename-directories"];
    const { transaction, runner } = await openTransaction(withDocs(), { required });
    expect(await run(transaction, ["true"])).toMatchObject({ kind: "exited" });
    const outside = await run(runner, ["true"]);
    expect(outside).toMatchObject({ kind: "setup-failed" });
    expect(outside.err).toContain("rename-directories");
    await transaction.discard();
  });

  test("stays as it is without a /proc, by which a caller's paths are told", async () => {
    const { transaction } = await openTransaction(withDocs(), { procBind: false });
    const { result } = await run(transaction, ["true"]);
    expect(result.audits[0]?.layers).not.toContain("rename-directories");
    const moved = await run(transaction, calls('mv("docs", "docs2"); mv("file", "file2")'));
    expect(moved.out).toBe("docs docs2 EXDEV\nfile file2 done");
    await transaction.discard();
    const refused = { procBind: false, required: ["rename-directories"] };
    const { transaction: other } = await openTransaction(withDocs(), refused);
    expect(await run(other, ["true"])).toMatchObject({ kind: "setup-failed" });
    await other.discard();
  });

  test("is committed as what it is, and taken back", async () => {
    const workspace = withDocs();
    rmSync(join(workspace, "docs/pipe"));
    const before = copied(workspace);
    const { transaction } = await openTransaction(workspace);
    const text = 'mv("docs", "full/docs"); mv("full", "all"); ';
    expect(await run(transaction, calls(text))).toMatchObject({ err: "", exitCode: 0 });
    const plainly = copied(workspace);
    const control = new BubblewrapNativeRunner({ shadowDir: plainly, prewarm: 0 });
    await run(control, calls(text));
    expect(await transaction.changes()).toEqual(differences(workspace, plainly));
    await transaction.commit();
    expect(differences(plainly, workspace)).toEqual([]);
    await transaction.undo();
    expect(differences(before, workspace)).toEqual([]);
    await transaction.discard();
  });
});
