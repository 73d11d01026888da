// As root too: owners, modes and mounts differ for root.
/** A commit from one file system to another is all that it is on one, and leaves nothing beside. */

import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { describeSandboxed, isRoot, testUnless } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";
import { kBackends } from "../support/transactions.js";
import { toldUnderMounts } from "./own-mounts.js";

/** A workspace below `top`, a state directory on a file system of its own, and an open transaction. */
const kOpened = (top: string, backend: string, workspace = "work") => `
  const top = ${JSON.stringify(top)};
  const workspace = join(top, ${JSON.stringify(workspace)});
  const directory = join(top, "state");
  fs.mkdirSync(workspace, { recursive: true });
  for (const name of ["a", "b", "dir/x", "gone/y"]) {
    fs.mkdirSync(dirname(join(workspace, name)), { recursive: true });
    fs.writeFileSync(join(workspace, name), "host " + name + "\\n");
  }
  const asides = (at) => fs.readdirSync(at).filter((name) => name.startsWith(".native-runner-aside-"));
  const runner = new BubblewrapNativeRunner({ shadowDir: workspace, prewarm: 0 });
  const options = { directory, backend: ${JSON.stringify(backend)} };
  let transaction = await runner.openTransaction(options);
  const again = async () => {
    await transaction.close();
    transaction = await runner.resumeTransaction(transaction.id, options);
  };`;

const kState = (top: string, more = "") => {
  mkdirSync(join(top, "state"), { recursive: true, mode: 0o700 });
  return `mount -t tmpfs -o mode=0700${more} none ${join(top, "state")}`;
};

describeSandboxed("a commit to another file system", () => {
  test.each(kBackends)("brings all, takes all back, and leaves nothing beside (%s)", (backend) => {
    const top = tempDirectory();
    const reported = toldUnderMounts<Record<string, unknown>>(
      kState(top),
      `${kOpened(top, backend)}
      const made = "echo mine > a; chmod 755 a; echo mine > dir/x; rm b; rm -r gone; mkdir -m 750 new; echo n > new/n";
      const more = "ln -s a to; truncate -s 8M hole; printf x >> hole; touch -d @1000 hole; ln a hard";
      await sh(transaction, made + "; " + more);
      const changes = await transaction.changes();
      const inode = fs.statSync(join(workspace, "a")).ino;
      const { committed, left } = await transaction.commit();
      const look = () => ({
        names: fs.readdirSync(workspace).sort(),
        a: fs.readFileSync(join(workspace, "a"), "utf8"),
        mode: fs.statSync(join(workspace, "a")).mode & 0o777,
      });
      const hole = fs.statSync(join(workspace, "hole"));
      const links = fs.statSync(join(workspace, "hard")).ino === fs.statSync(join(workspace, "a")).ino;
      const after = look();
      const beside = asides(top).length;
      const changesAfter = await transaction.changes();
      await again();
      const seen = await sh(transaction, "cat a new/n; ls -a");
      await transaction.undo();
      const undone = { ...look(), beside: asides(top).length, inode: fs.statSync(join(workspace, "a")).ino === inode };
      const same = JSON.stringify(await transaction.changes()) === JSON.stringify(changes);
      await again();
      await transaction.commit();
      const twice = look();
      await transaction.discard();
      tell({ committed: pathsOf(committed), left, after, beside, changesAfter, seen, undone, same, twice,
        hole: [hole.size, hole.blocks < 1000, hole.mtimeMs], links, left_: [...asides(top), ...asides(workspace), ...fs.readdirSync(directory)] });`,
    );
    const after = {
      names: ["a", "dir", "hard", "hole", "new", "to"],
      a: "mine\n",
      mode: 0o755,
    };
    expect(reported).toMatchObject({
      left: [],
      after,
      beside: 1,
      changesAfter: [],
      same: true,
      twice: after,
      hole: [(8 << 20) + 1, true, 1_000_000],
      links: true,
      left_: [],
      undone: {
        names: ["a", "b", "dir", "gone"],
        a: "host a\n",
        mode: 0o644,
        beside: 0,
        inode: true,
      },
    });
    expect(reported.committed).toEqual([
      "modified a",
      "deleted b",
      "modified dir/x",
      "deleted gone",
      "deleted gone/y",
      "added hard",
      "added hole",
      "added new",
      "added new/n",
      "added to",
    ]);
    expect(reported.seen).toMatchObject({ out: "mine\nn\n.\n..\na\ndir\nhard\nhole\nnew\nto" });
  });

  test.each(kBackends)("is refused for want of space, with nothing changed (%s)", (backend) => {
    const top = tempDirectory();
    mkdirSync(join(top, "small"));
    const reported = toldUnderMounts<Record<string, unknown>>(
      `${kState(top)}; mount -t tmpfs -o mode=0755,size=2m none ${join(top, "small")}`,
      `${kOpened(top, backend, "small/work")}
      await sh(transaction, "echo mine > a; head -c 4M /dev/zero > large");
      const refused = await failure(transaction.commit());
      const host = [fs.readFileSync(join(workspace, "a"), "utf8"), ...fs.readdirSync(workspace)];
      const left = [...asides(join(top, "small")), ...asides(workspace)];
      await again();
      const changes = pathsOf(await transaction.changes());
      await sh(transaction, "head -c 1M /dev/zero > large");
      await transaction.commit();
      const size = fs.statSync(join(workspace, "large")).size;
      await transaction.discard();
      tell({ refused, host, left, changes, size });`,
    );
    expect(reported).toMatchObject({
      refused: { code: "ERR_SANDBOX_SETUP" },
      host: ["host a\n", "a", "b", "dir", "gone"],
      left: [],
      changes: ["modified a", "added large"],
      size: 1 << 20,
    });
    expect((reported.refused as { message: string }).message).toContain("large can't be copied");
  });

  // Beside it is another file system, as where a container has the project as a volume.
  test.each(kBackends)("keeps the host's files in a workspace that is a mount (%s)", (backend) => {
    const top = tempDirectory();
    mkdirSync(join(top, "work"));
    const hasGit = spawnSync("git", ["--version"]).status === 0;
    const reported = toldUnderMounts<Record<string, unknown>>(
      `${kState(top)}; mount -t tmpfs -o mode=0755 none ${join(top, "work")}`,
      `${kOpened(top, backend)}
      const { spawnSync } = await import("node:child_process");
      const git = () => spawnSync("git", ["status", "--porcelain"], { cwd: workspace, encoding: "utf8" }).stdout;
      spawnSync("git", ["init", "-q"], { cwd: workspace });
      await sh(transaction, "echo mine > a; rm -r gone");
      await transaction.commit();
      const inside = asides(workspace);
      const mode = inside.map((name) => fs.statSync(join(workspace, name)).mode & 0o777);
      await again();
      const other = await runner.openTransaction({ directory, backend: options.backend });
      const seen = [await sh(transaction, "ls -A"), await sh(other, "ls -A"), (await transaction.files.list("."))
        .map(({ path }) => path)].map((value) => value.out ?? value.join("\\n"));
      const changes = [await transaction.changes(), await other.changes()];
      await other.discard();
      const plain = (await sh(runner, "ls -A")).out;
      const status = git();
      await transaction.undo();
      const undone = [fs.readFileSync(join(workspace, "a"), "utf8"), ...fs.readdirSync(workspace)];
      await transaction.discard();
      tell({ inside: inside.length, mode, seen, changes, plain, status, undone });`,
    );
    const { seen, plain, status, ...rest } = reported as {
      seen: string[];
      plain: string;
      status: string;
    };
    const git = hasGit ? [".git"] : [];
    expect(rest).toEqual({
      inside: 1,
      mode: [0o700],
      changes: [[], []],
      undone: ["host a\n", ...git, "a", "b", "dir", "gone"],
    });
    for (const names of seen) expect(names).not.toContain(".native-runner-aside");
    expect(seen[0]).toContain("a\nb\ndir");
    expect(plain, "other commands see it").toContain(".native-runner-aside");
    expect(status).not.toContain(".native-runner-aside");
  });

  test("lets nobody change what an undo would bring back", () => {
    const top = tempDirectory();
    mkdirSync(join(top, "work"));
    const reported = toldUnderMounts<Record<string, unknown>>(
      `${kState(top)}; mount -t tmpfs -o mode=0755 none ${join(top, "work")}`,
      `${kOpened(top, "overlay")}
      await sh(transaction, "echo mine > a");
      await transaction.commit();
      const forge = 'cd .native-runner-aside-*; f=$(grep -l "host a" *); t=$(stat -c %y $f); printf "evil a\\\\n" > $f; touch -d "$t" $f';
      const forged = await sh(runner, forge);
      const refused = await failure(transaction.undo());
      const host = fs.readFileSync(join(workspace, "a"), "utf8");
      await transaction.discard();
      tell({ forged: forged.exitCode, refused, host, left: asides(workspace) });`,
    );
    expect(reported).toEqual({
      forged: 0,
      refused: expect.objectContaining({ code: "ERR_TRANSACTION_CONFLICT", paths: ["a"] }),
      host: "mine\n",
      left: [],
    });
  });

  testUnless(isRoot ? "root may write everywhere" : undefined, "works in another's", () => {
    const top = tempDirectory();
    mkdirSync(join(top, "above/work"), { recursive: true });
    const reported = toldUnderMounts<Record<string, unknown>>(
      kState(top),
      `${kOpened(top, "overlay", "above/work")}
      fs.chmodSync(join(top, "above"), 0o500);
      await sh(transaction, "echo mine > a");
      await transaction.commit();
      tell({ inside: asides(workspace).length, a: fs.readFileSync(join(workspace, "a"), "utf8") });
      await transaction.discard();
      fs.chmodSync(join(top, "above"), 0o700);`,
    );
    expect(reported.a).toBe("mine\n");
    const names = readdirSync(join(top, "above/work")).sort();
    expect(names).toEqual(["a", "b", "dir", "gone"]);
  });
});
