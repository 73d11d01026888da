/** What programs that people use make of a project, they make of it in a transaction. */

import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { bindsWithNode } from "../../promises/probed-host.js";
import { kNodeProgram } from "../../support/node-arguments.js";
import { BubblewrapNativeRunner, type NativeRunner } from "../../support/package.js";
import { buildProbe } from "../../support/probe.js";
import { describeSandboxed, testUnless } from "../../support/requirements.js";
import { run } from "../../support/results.js";
import { tempDirectory } from "../../support/temp.js";
import { openTransaction } from "../../support/transactions.js";
import { manifestOf } from "../hostile/compare-trees.js";
import { copyOf } from "../tree-scripts.js";

const kEnv = {
  HOME: "/tmp",
  TMPDIR: "/tmp", // whoever runs the tests may have one that no sandbox shows
  LC_ALL: "C",
  GIT_AUTHOR_NAME: "A",
  GIT_AUTHOR_EMAIL: "a@example.org",
  GIT_COMMITTER_NAME: "A",
  GIT_COMMITTER_EMAIL: "a@example.org",
  GIT_AUTHOR_DATE: "2020-01-01T00:00:00Z",
  GIT_COMMITTER_DATE: "2020-01-01T00:00:00Z",
  GIT_CONFIG_COUNT: "4",
  GIT_CONFIG_KEY_0: "init.defaultBranch",
  GIT_CONFIG_VALUE_0: "main",
  GIT_CONFIG_KEY_1: "pack.threads",
  GIT_CONFIG_VALUE_1: "1",
  GIT_CONFIG_KEY_2: "safe.directory",
  GIT_CONFIG_VALUE_2: "*",
  GIT_CONFIG_KEY_3: "gc.auto",
  GIT_CONFIG_VALUE_3: "0",
  npm_config_cache: "/tmp/npm",
  npm_config_update_notifier: "false",
};

/** Why a program of the system's can't be used. */
function lacks(...programs: string[]): string | undefined {
  const missing = programs.filter(
    (each) => spawnSync("sh", ["-c", `PATH=/usr/bin:/bin command -v ${each}`]).status !== 0,
  );
  return missing.length === 0 ? undefined : `there is no ${missing.join(", ")} in /usr/bin`;
}

const kPnpm = fileURLToPath(new URL("../../../../node_modules/pnpm", import.meta.url));
const kWithNode = { roBinds: [...bindsWithNode(), kPnpm] };
const kNodeDirectory = dirname(kNodeProgram);

type Tool = {
  name: string;
  why?: string | undefined;
  /** Makes the project, on the host. */
  prepare?: (workspace: string) => void;
  script: string;
  /** Says the same of both, in their place. */
  look?: string;
};

function sh(workspace: string, script: string): void {
  const home = tempDirectory("home");
  const path = `/usr/bin:/bin:${kNodeDirectory}`;
  const env = { ...kEnv, PATH: path, HOME: home, npm_config_cache: join(home, "npm") };
  const done = spawnSync("sh", ["-ec", script], { cwd: workspace, env, encoding: "utf8" });
  expect(done, script).toMatchObject({ status: 0 });
}

const kRepository = `git init -q; seq 100 > a; echo b > b; mkdir sub; echo c > sub/c; git add .
  git commit -qm one; git checkout -qb topic; sed -i s/^5/five/ a; git commit -qam two
  git checkout -q main; echo d > d; git add d; git commit -qm three`;
/** What tells of inode numbers and times. */
const kIndex = /\.git\/(worktrees\/[^/]+\/)?index$/;

function files(workspace: string, each: Record<string, string>): void {
  for (const [name, text] of Object.entries(each)) {
    mkdirSync(dirname(join(workspace, name)), { recursive: true });
    writeFileSync(join(workspace, name), text);
  }
}

/** A package that needs another, which lies beside it as a tarball. */
function npmProject(workspace: string): void {
  files(workspace, {
    "dep/package.json": '{"name":"dep","version":"1.0.0","main":"lib/index.js"}',
    "dep/lib/index.js": "module.exports = 42;\n",
    "package.json": '{"name":"app","version":"1.0.0","dependencies":{"dep":"file:dep-1.0.0.tgz"}}',
  });
  sh(workspace, "npm pack --silent ./dep; npm install --silent --offline --package-lock-only");
}

const kTools: Tool[] = [
  {
    name: "git: init and commits",
    why: lacks("git"),
    script: `${kRepository}; git tag v1`,
    look: "git log --all --format='%H %D'; git ls-files -s; git fsck --strict; git status --short",
  },
  {
    name: "git: rebase, merge, stash and reset in a repository of the host's",
    why: lacks("git"),
    prepare: (workspace) => sh(workspace, kRepository),
    script: `git checkout -q topic; git rebase -q main; git checkout -q main; git merge -q --no-ff -m m topic
      echo w >> b; git stash -q; git stash pop -q; git reset -q --hard HEAD~1; git branch -D topic > /dev/null`,
    look: "git log --all --format='%H %D'; git ls-files -s; git fsck --strict; git status --short",
  },
  {
    name: "git: a worktree",
    why: lacks("git"),
    prepare: (workspace) => sh(workspace, kRepository),
    script: "git worktree add -q tree topic; cd tree; echo e > e; git add e; git commit -qm four",
    look: "git worktree list; git log --all --format='%H %D'; git -C tree status --short",
  },
  {
    name: "git: gc",
    why: lacks("git"),
    prepare: (workspace) => sh(workspace, kRepository),
    script: "git gc -q --prune=now; git repack -qad",
    look: "git fsck --strict; git count-objects -v; git log --all --format='%H %D'",
  },
  {
    name: "npm ci, of a tarball",
    prepare: npmProject,
    script: `export PATH=$PATH:${kNodeDirectory}; npm ci --offline --no-audit --no-fund --silent`,
    look: `PATH=$PATH:${kNodeDirectory} node -p 'require("dep")'`,
  },
  {
    name: "npm ci, over what is installed",
    prepare(workspace) {
      npmProject(workspace);
      sh(
        workspace,
        "npm ci --offline --no-audit --no-fund --silent; echo x > node_modules/dep/own",
      );
    },
    script: `export PATH=$PATH:${kNodeDirectory}; npm ci --offline --no-audit --no-fund --silent`,
    look: `PATH=$PATH:${kNodeDirectory} node -p 'require("dep")'; ls node_modules/dep`,
  },
  {
    name: "pnpm install, offline",
    prepare: npmProject,
    // When it was installed stands in that file.
    script: `export PATH=$PATH:${kNodeDirectory}
      node ${kPnpm}/bin/pnpm.cjs install --offline --silent --store-dir /tmp/store
      rm node_modules/.modules.yaml node_modules/.pnpm-workspace-state*.json`,
    look: `PATH=$PATH:${kNodeDirectory} node -p 'require("dep")'; ls -R node_modules`,
  },
  {
    name: "make",
    why: lacks("make", "cc"),
    prepare(workspace) {
      files(workspace, {
        Makefile:
          "all: out/prog\nout/prog: out/a.o out/b.o\n\tcc -o $@ $^\nout/%.o: %.c\n\t@mkdir -p out\n\tcc -c -o $@ $<\n",
        "a.c": "int b(void); int main(void) { return b(); }\n",
        "b.c": "int b(void) { return 7; }\n",
      });
      sh(workspace, "make -s out/a.o");
    },
    script: "make -s; make -q; echo '// more' >> b.c; make -s; make -q",
    look: "out/prog; echo $?; make -q; echo $?",
  },
  {
    name: "sqlite with a write-ahead log",
    why: lacks("sqlite3"),
    prepare: (workspace) =>
      sh(
        workspace,
        "sqlite3 db 'PRAGMA journal_mode=WAL; CREATE TABLE t(a); INSERT INTO t VALUES (1);'",
      ),
    script: `sqlite3 db "INSERT INTO t SELECT a + 1 FROM t; CREATE INDEX i ON t(a);" & 
      sqlite3 new "PRAGMA journal_mode=WAL; CREATE TABLE n(x); INSERT INTO n VALUES ('y');" > /dev/null; wait
      sqlite3 db "BEGIN; DELETE FROM t WHERE a = 1; COMMIT; VACUUM;"`,
    look: "sqlite3 db .dump; sqlite3 new .dump; ls",
  },
  {
    name: "sed -i, and a file that is renamed over another",
    prepare: (workspace) => files(workspace, { "src/a": "one\ntwo\n", "src/b": "three\n" }),
    script:
      "sed -i s/two/2/ src/a; sed -i.orig s/three/3/ src/b; printf 4 > src/.b.tmp && mv src/.b.tmp src/b",
  },
  {
    name: "ed",
    why: lacks("ed"),
    prepare: (workspace) => files(workspace, { a: "one\ntwo\n" }),
    script: "printf '2\\ni\\nbetween\\n.\\nw\\nq\\n' | ed -s a",
  },
  {
    name: "vim",
    why: lacks("vim"),
    prepare: (workspace) => files(workspace, { a: "one\ntwo\n", b: "three\n" }),
    script:
      "vim -u NONE -i NONE -n -es -c '%s/one/1/' -c wq a; vim -u NONE -i NONE -es -c 'set backup backupcopy=no' -c 'norm Gonew' -c wq b",
  },
  {
    name: "patch and tar",
    why: lacks("tar"),
    prepare: (workspace) => files(workspace, { "src/a": "one\n", "src/sub/b": "two\n" }),
    script: "tar cf t.tar src; rm -r src; tar xf t.tar; rm t.tar; cp -a src copy; rm -r src/sub",
  },
  {
    name: "a directory of its own that is renamed, as build tools do",
    prepare: (workspace) => files(workspace, { "target/old/x": "x\n" }),
    script:
      "mkdir -p target/.new/deep; echo y > target/.new/deep/y; ./probe rename target/.new target/new",
    look: "ls -R target",
  },
];

/**
 * These give EXDEV in an overlay until the launcher answers rename(2) of the project's directories
 * (docs/architecture/namespaces.md): to be true as soon as it does.
 */
const kRenamesDirectories = true;
const kWhyNot = kRenamesDirectories
  ? undefined
  : "renaming a directory of the project's gives EXDEV";
const kRenames: Tool[] = [
  {
    name: "a directory of the project's that is renamed",
    why: kWhyNot,
    prepare: (workspace) => files(workspace, { "src/a": "one\n", "src/sub/b": "two\n" }),
    script: "./probe rename src lib; ./probe rename lib/sub sub; echo new > lib/new",
    look: "ls -R",
  },
  {
    name: "git mv of a directory",
    why: kWhyNot ?? lacks("git"),
    prepare: (workspace) => sh(workspace, kRepository),
    script: "git mv sub moved; git commit -qm moved",
    look: "git log --all --format='%H %D'; git status --short",
  },
  {
    name: "a build's directory that takes the place of the one before, as cargo's does",
    why: kWhyNot,
    prepare: (workspace) =>
      files(workspace, { "target/debug/deps/x": "x\n", "target/debug/y": "y\n" }),
    script: `cp -a target/debug target/.tmp; echo z > target/.tmp/deps/z
      ./probe rename target/debug target/.old; ./probe rename target/.tmp target/debug; rm -r target/.old`,
    look: "ls -R target",
  },
];

async function looked(runner: NativeRunner, { script, look = "true" }: Tool) {
  const worked = await run(runner, script, { env: kEnv });
  const seen = await run(runner, look, { env: kEnv });
  return { worked: [worked.exitCode, worked.out, worked.err], seen: [seen.out, seen.err] };
}

describeSandboxed("in a transaction", () => {
  for (const tool of [...kTools, ...kRenames]) {
    testUnless(tool.why, tool.name, async () => {
      const workspace = tempDirectory();
      buildProbe(workspace);
      tool.prepare?.(workspace);
      const before = copyOf(workspace);
      const expected = copyOf(workspace);
      const { transaction } = await openTransaction(workspace, kWithNode);
      const plain = new BubblewrapNativeRunner({ shadowDir: expected, prewarm: 0, ...kWithNode });
      const outside = await looked(plain, tool);
      expect(outside.worked[0], `${tool.name}: ${outside.worked[2]}`).toBe(0);
      expect(await looked(transaction, tool)).toEqual(outside);
      const comparable = (directory: string) =>
        manifestOf(directory).filter((line) => !kIndex.test(line));
      expect(comparable(workspace)).toEqual(comparable(before));
      await transaction.commit({ allowProtected: ["."] });
      expect(comparable(workspace)).toEqual(comparable(expected));
      await transaction.discard();
    });
  }
});
