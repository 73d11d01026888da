// As root too: an ordinary user's namespaces can't keep all lists.
/** Access control lists of the workspace's files: kept, or refused, and never turned into a wider mode. */

import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeUnless, isRoot, testUnless, whyNoBubblewrap } from "../support/requirements.js";
import { run } from "../support/results.js";
import { tempDirectory } from "../support/temp.js";
import { describeBackends, kBackends, openTransaction } from "../support/transactions.js";
import { toldUnderMounts } from "./own-mounts.js";

/** What Python has and Node has not: extended attributes. */
function python(script: string, ...words: string[]): string {
  const { stdout, stderr, status } = spawnSync("python3", ["-c", script, ...words], {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(stderr);
  return stdout.trim();
}

/** The list u::rw-, u:61501:rw-, g::---, m::rw-, o::--- as acl(5) keeps it: the mode shows 0660. */
const kList = `
import os, struct, sys
entry = lambda tag, perm, id=0xffffffff: struct.pack("<HHI", tag, perm, id)
access = struct.pack("<I", 2) + entry(1, 6) + entry(2, 6, 61501) + entry(4, 0) + entry(16, 6) + entry(32, 0)
default = struct.pack("<I", 2) + entry(1, 7) + entry(2, 7, 61501) + entry(4, 0) + entry(16, 7) + entry(32, 0)
`;

const giveList = (path: string, kind = "access") =>
  python(
    `${kList}\nos.setxattr(sys.argv[1], "system.posix_acl_" + sys.argv[2], access if sys.argv[2] == "access" else default)`,
    path,
    kind,
  );

/** What the list of a file is; "none" without one, which then must not have the group's permissions. */
const listOf = (path: string, kind = "access") =>
  python(
    `import os, sys
try: print(os.getxattr(sys.argv[1], "system.posix_acl_" + sys.argv[2]).hex())
except OSError: print("none")`,
    path,
    kind,
  );

function whyNoLists(): string | undefined {
  if (spawnSync("python3", ["--version"]).status !== 0) return "there is no python3";
  const file = join(tempDirectory(), "file");
  writeFileSync(file, "");
  try {
    giveList(file);
  } catch {
    return "the file system has no access control lists";
  }
  return whyNoBubblewrap;
}

function workspaceWithLists(): string {
  const workspace = tempDirectory();
  mkdirSync(join(workspace, "dir"));
  for (const name of ["edited", "given", "kept", "dir/below", "plain"]) {
    writeFileSync(join(workspace, name), `host ${name}\n`);
    chmodSync(join(workspace, name), 0o600);
    if (name !== "plain") giveList(join(workspace, name));
  }
  giveList(join(workspace, "dir"), "default");
  return workspace;
}

describeUnless(whyNoLists(), "access control lists", () => {
  describeBackends("of a transaction", (open, backend) => {
    test("are kept by a commit, of new files too", async () => {
      const workspace = workspaceWithLists();
      const list = listOf(join(workspace, "kept"));
      expect(list, "the positive control").not.toBe("none");
      expect(statSync(join(workspace, "kept")).mode & 0o777).toBe(0o660);
      const { transaction } = await open(workspace);
      const script =
        "echo mine >> edited; echo mine >> given; echo mine >> dir/below; mkdir dir/made; " +
        "echo n > dir/new; echo mine >> plain";
      expect((await run(transaction, ["sh", "-c", script])).err).toBe("");
      await transaction.commit({ contents: { given: "host given\nchosen\n" } });
      const lists = ["edited", "given", "kept", "dir/below"].map((name) =>
        listOf(join(workspace, name)),
      );
      expect(lists).toEqual([list, list, list, list]);
      expect(statSync(join(workspace, "given")).size).toBe("host given\nchosen\n".length);
      expect(listOf(join(workspace, "plain"))).toBe("none");
      expect(statSync(join(workspace, "plain")).mode & 0o777).toBe(0o600);
      const inherited = listOf(join(workspace, "dir"), "default");
      expect(listOf(join(workspace, "dir/made"), "default")).toBe(inherited);
      expect(listOf(join(workspace, "dir/new"))).not.toBe("none");
      await transaction.undo();
      expect(listOf(join(workspace, "edited"))).toBe(list);
      await transaction.discard();
    });

    test("are kept by files.write, on the host too", async () => {
      const workspace = workspaceWithLists();
      const list = listOf(join(workspace, "edited"));
      const { runner, transaction } = await open(workspace);
      const written = transaction.files.write("edited", "mine\n");
      // The user namespace of an ordinary user's overlay has no number for the list's other user.
      if (!isRoot && backend === "overlay") await expect(written).rejects.toThrow(/^EINVAL/);
      else await written;
      await transaction.commit();
      expect(listOf(join(workspace, "edited"))).toBe(list);
      expect(statSync(join(workspace, "edited")).mode & 0o777).toBe(0o660);
      await runner.files.write("kept", "mine\n");
      await runner.files.write("dir/below", "mine\n", { mode: 0o640 });
      expect(listOf(join(workspace, "kept"))).toBe(list);
      expect(listOf(join(workspace, "dir/below"))).not.toBe("none");
      // A file without a list gets none from its directory.
      writeFileSync(join(workspace, "dir/none"), "");
      python(
        'import os, sys; os.removexattr(sys.argv[1], "system.posix_acl_access")',
        join(workspace, "dir/none"),
      );
      chmodSync(join(workspace, "dir/none"), 0o640);
      await runner.files.write("dir/none", "mine\n");
      expect(listOf(join(workspace, "dir/none"))).toBe("none");
      await transaction.discard();
    });
  });

  // Its group would get what the list's mask permits.
  test("that a command gave to a directory of the host's are refused by name", async () => {
    const workspace = tempDirectory();
    mkdirSync(join(workspace, "dir"), { mode: 0o700 });
    mkdirSync(join(workspace, "other"), { mode: 0o700 });
    const { transaction } = await openTransaction(workspace);
    await run(transaction, [
      "python3",
      "-c",
      `${kList}
os.chmod("other", 0o750)
own = struct.pack("<I", 2) + entry(1, 7) + entry(4, 0) + entry(16, 7) + entry(32, 0)
os.setxattr("dir", "system.posix_acl_access", own)`,
    ]);
    await expect(transaction.commit()).rejects.toThrow(/^dir has another access control list/);
    expect(statSync(join(workspace, "dir")).mode & 0o777).toBe(0o700);
    await transaction.commit({ paths: ["other"] });
    expect(statSync(join(workspace, "other")).mode & 0o777).toBe(0o750);
    await transaction.discard();
  });

  const whyNoMounts = isRoot
    ? undefined
    : "the mounts need a user namespace, which has no number for the list's other user";
  for (const backend of kBackends) {
    testUnless(whyNoMounts, `are kept from another file system (${backend})`, () => {
      const workspace = workspaceWithLists();
      const list = listOf(join(workspace, "kept"));
      const state = tempDirectory();
      toldUnderMounts<null>(
        `mount -t tmpfs -o mode=0700 none ${state}`,
        `const workspace = ${JSON.stringify(workspace)};
      const runner = new BubblewrapNativeRunner({ shadowDir: workspace, prewarm: 0 });
      const transaction = await runner.openTransaction({ directory: ${JSON.stringify(state)}, backend: ${JSON.stringify(backend)} });
      await sh(transaction, "echo mine >> edited; echo mine >> dir/below");
      await transaction.commit();
      await transaction.discard();
      tell(null);`,
      );
      expect(listOf(join(workspace, "edited"))).toBe(list);
      expect(listOf(join(workspace, "dir/below"))).toBe(list);
    });
  }
});
