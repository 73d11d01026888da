/** What the host's git runs, or obeys as its configuration, is committed by name only. */

import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";

import { plainEnvironment } from "../../support/requirements.js";
import { run } from "../../support/results.js";
import { tempDirectory } from "../../support/temp.js";
import { describeBackends, treeOf } from "../../support/transactions.js";

const kHome = process.env.HOME;
afterEach(() => {
  process.env.HOME = kHome;
});

/** A directory with all that a case needs; the workspace is `workspace` in it. */
class Scene {
  readonly top = realpathSync(tempDirectory("git"));
  readonly workspace: string;
  readonly mark = join(this.top, "mark");

  constructor(workspace = "workspace") {
    this.workspace = join(this.top, workspace);
    mkdirSync(join(this.top, "home"));
    mkdirSync(this.workspace, { recursive: true });
  }

  /** Runs a script of the host's in the workspace, as its user with a home of their own would. */
  host(script: string) {
    return spawnSync("sh", ["-c", script], {
      cwd: this.workspace,
      encoding: "utf8",
      env: {
        ...plainEnvironment(),
        HOME: join(this.top, "home"),
        GIT_CONFIG_NOSYSTEM: "1",
        GIT_AUTHOR_NAME: "Ada",
        GIT_AUTHOR_EMAIL: "ada@a.test",
        GIT_COMMITTER_NAME: "Ada",
        GIT_COMMITTER_EMAIL: "ada@a.test",
        GIT_EDITOR: "true",
        TOP: this.top,
      },
    });
  }

  do(script: string) {
    const done = this.host(`set -e; ${script}`);
    expect(done.status, done.stderr).toBe(0);
  }

  /** True if what the host does has run code that was left for it. */
  runsCode(script: string): boolean {
    rmSync(this.mark, { force: true });
    this.host(script);
    return existsSync(this.mark);
  }
}

const kRepository = "git init -q -b main .; git commit -q --allow-empty -m one";
/** A repository beside the workspace, to be a submodule or a clone. */
const kOther = "git init -q -b main ../other; git -C ../other commit -q --allow-empty -m one";
const kSubmodule = `${kRepository}; ${kOther}; git -c protocol.file.allow=always submodule --quiet add ../other lib; git commit -q -m two`;
const kWorktree = `${kRepository}; git config extensions.worktreeConfig true; git worktree add -q ../tree`;
/** A repository that has no name of its own. */
const kPlain = (path: string) =>
  `mkdir -p ${path}/objects ${path}/refs; echo 'ref: refs/heads/main' > ${path}/HEAD`;

type Case = {
  setup: string;
  workspace?: string;
  /** A command's. */
  script: (scene: Scene) => string;
  /** What is protected of it. */
  paths: string[];
  /** What the host does then, and if it can do that only once. */
  use: string;
  isOnce?: boolean;
};

const hook =
  (path: string) =>
  ({ mark }: Scene) =>
    `mkdir -p "$(dirname ${path})"; printf '#!/bin/sh\\ntouch ${mark}\\n' > ${path}; chmod 755 ${path}`;
/** git asks this program at each look at the files. */
const setting =
  (path: string, more = "") =>
  ({ mark }: Scene) =>
    `printf '[core]\\n${more}\\tfsmonitor = "touch ${mark}; false"\\n' >> ${path}`;
const both =
  (...scripts: ((scene: Scene) => string)[]) =>
  (scene: Scene) =>
    scripts.map((script) => script(scene)).join("; ");
/** Of a repository that lies in a directory without a name of its own, and has a working tree. */
const kWithTree = (tree: string) =>
  `\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tworktree = ${tree}\\n`;
const kCommit = "git commit -q --allow-empty -m more";

const kCases: [string, Case][] = [
  [
    "a submodule's hook",
    {
      setup: kSubmodule,
      script: hook(".git/modules/lib/hooks/pre-commit"),
      paths: [".git/modules/lib/hooks/pre-commit"],
      use: `cd lib; ${kCommit}`,
    },
  ],
  [
    "a submodule's configuration",
    {
      setup: kSubmodule,
      script: setting(".git/modules/lib/config"),
      paths: [".git/modules/lib/config"],
      use: "git -C lib status",
    },
  ],
  [
    "a submodule of a submodule's",
    {
      setup: `${kSubmodule}; cd lib; git -c protocol.file.allow=always submodule --quiet add "$TOP/other" in/deep`,
      script: hook(".git/modules/lib/modules/in/deep/hooks/pre-commit"),
      paths: [".git/modules/lib/modules/in/deep/hooks/pre-commit"],
      use: `cd lib/in/deep; ${kCommit}`,
    },
  ],
  [
    "a worktree's configuration",
    {
      setup: kWorktree,
      script: setting(".git/worktrees/tree/config.worktree"),
      paths: [".git/worktrees/tree/config.worktree"],
      use: "git -C ../tree status",
    },
  ],
  [
    "another repository for a worktree",
    {
      setup: kWorktree,
      script: both(
        () => "cp -r .git evil; echo ../../../evil > .git/worktrees/tree/commondir",
        setting("evil/config"),
      ),
      paths: [".git/worktrees/tree/commondir", "evil/HEAD", "evil/config"],
      use: "git -C ../tree status",
    },
  ],
  [
    "a hook in the directory of core.hooksPath",
    {
      setup: `${kRepository}; git config core.hooksPath tools/hooks`,
      script: hook("tools/hooks/pre-commit"),
      paths: ["tools/hooks", "tools/hooks/pre-commit"],
      use: kCommit,
    },
  ],
  [
    "a hook in an absolute core.hooksPath",
    {
      setup: `${kRepository}; mkdir hooks; echo > hooks/pre-commit; git config core.hooksPath "$PWD/hooks"`,
      script: hook("hooks/pre-commit"),
      paths: ["hooks/pre-commit"],
      use: kCommit,
    },
  ],
  [
    "a link in the place of core.hooksPath",
    {
      setup: `${kRepository}; mkdir hooks; git config core.hooksPath hooks`,
      script: both(hook("mine/pre-commit"), () => "rmdir hooks; ln -s mine hooks"),
      paths: ["hooks"],
      use: kCommit,
    },
  ],
  [
    "a link above core.hooksPath",
    {
      setup: `${kRepository}; mkdir -p tools/hooks; git config core.hooksPath tools/hooks`,
      script: both(hook("mine/hooks/pre-commit"), () => "rm -r tools; ln -s mine tools"),
      paths: ["tools", "tools/hooks"],
      use: kCommit,
    },
  ],
  [
    "the target of a linked hook",
    {
      setup: `${kRepository}; mkdir scripts; echo > scripts/check.sh; ln -s ../../scripts/check.sh .git/hooks/pre-commit`,
      script: hook("scripts/check.sh"),
      paths: ["scripts/check.sh"],
      use: kCommit,
    },
  ],
  [
    "the target of linked hooks",
    {
      setup: `${kRepository}; rm -rf .git/hooks; mkdir scripts; ln -s ../scripts .git/hooks`,
      script: hook("scripts/pre-commit"),
      paths: ["scripts/pre-commit"],
      use: kCommit,
    },
  ],
  [
    "the target of a linked configuration",
    {
      setup: `${kRepository}; mv .git/config gitconfig; ln -s ../gitconfig .git/config`,
      script: setting("gitconfig"),
      paths: ["gitconfig"],
      use: "git status",
    },
  ],
  [
    "a file that is included",
    {
      setup: `${kRepository}; echo > shared; git config include.path ../shared`,
      script: setting("shared"),
      paths: ["shared"],
      use: "git status",
    },
  ],
  [
    "a file that would be included",
    {
      setup: `${kRepository}; git config includeIf.onbranch:main.path ../conf/shared`,
      script: both(() => "mkdir conf", setting("conf/shared")),
      paths: ["conf/shared"],
      use: "git status",
    },
  ],
  [
    "a file that an included file includes",
    {
      setup: `${kRepository}; mkdir conf; printf '[include]\\npath = deep/er\\n' > conf/shared; git config include.path "$PWD/conf/shared"`,
      script: both(() => "mkdir conf/deep", setting("conf/deep/er")),
      paths: ["conf/deep/er"],
      use: "git status",
    },
  ],
  [
    "a hook of a workspace that is a bare repository",
    {
      setup: `${kOther}; git clone -q --bare ../other .`,
      script: hook("hooks/reference-transaction"),
      paths: ["hooks/reference-transaction"],
      use: "git branch more$$",
    },
  ],
  [
    "the configuration of a workspace that is a bare repository",
    {
      setup: `${kOther}; git clone -q --bare ../other .`,
      script: both(hook("mine/reference-transaction"), () => "git config core.hooksPath mine"),
      paths: ["config", "mine", "mine/reference-transaction"],
      use: "git branch more$$",
    },
  ],
  [
    "a hook of a bare repository in a directory",
    {
      setup: `${kOther}; git clone -q --bare ../other sub/repo`,
      script: hook("sub/repo/hooks/reference-transaction"),
      paths: ["sub/repo/hooks/reference-transaction"],
      use: "git -C sub/repo branch more$$",
    },
  ],
  [
    "a directory that becomes a repository",
    {
      setup: "mkdir sub; echo > sub/file",
      script: both(() => kPlain("sub"), setting("sub/config", kWithTree(".."))),
      paths: ["sub/HEAD", "sub/config", "sub/objects", "sub/refs"],
      use: "git -C sub status",
    },
  ],
  [
    "a workspace that becomes a repository",
    {
      setup: "echo > file",
      script: both(() => kPlain("."), setting("config", kWithTree("."))),
      paths: ["HEAD", "config", "objects", "refs"],
      use: "git status",
    },
  ],
  [
    "a directory that becomes one by commondir",
    {
      setup: "echo > file",
      script: both(
        () => `mkdir sub; echo 'ref: refs/heads/main' > sub/HEAD; echo ../store > sub/commondir`,
        () => kPlain("store"),
        hook("store/hooks/reference-transaction"),
      ),
      paths: [
        "store/HEAD",
        "store/hooks/reference-transaction",
        "store/objects",
        "store/refs",
        "sub/HEAD",
        "sub/commondir",
      ],
      use: "cd sub; git update-ref refs/tags/x $(git hash-object -w --stdin < HEAD)",
    },
  ],
  [
    "the last thing that a directory lacks to be a repository",
    {
      setup: `${kPlain("sub")}; rmdir sub/refs`,
      script: both(() => "mkdir sub/refs", setting("sub/config", kWithTree(".."))),
      paths: ["sub/config", "sub/refs"],
      use: "git -C sub status",
    },
  ],
  [
    "a nested repository's hook",
    {
      setup: "git init -q sub",
      script: hook("sub/.git/hooks/pre-commit"),
      paths: ["sub/.git/hooks/pre-commit"],
      use: `cd sub; ${kCommit}`,
    },
  ],
  [
    "what a nested repository's configuration names",
    {
      setup: "git init -q sub/deep; git -C sub/deep config core.hooksPath ../../shared",
      script: hook("shared/pre-commit"),
      paths: ["shared", "shared/pre-commit"],
      use: `cd sub/deep; ${kCommit}`,
    },
  ],
  [
    "a repository that a .git file leads to",
    {
      setup: "mkdir store; git init -q --separate-git-dir store/lib lib",
      script: hook("store/lib/hooks/pre-commit"),
      paths: ["store/lib/hooks/pre-commit"],
      use: `cd lib; ${kCommit}`,
    },
  ],
  [
    "a repository that a .git link leads to",
    {
      setup: `${kRepository}; mv .git store; ln -s store .git`,
      script: setting("store/config"),
      paths: ["store/config"],
      use: "git status",
    },
  ],
  [
    "a .git file that leads elsewhere",
    {
      setup: "git init -q --separate-git-dir ../store lib",
      script: both(
        () => kPlain("evil"),
        setting("evil/config"),
        () => "echo gitdir: ../evil > lib/.git",
      ),
      paths: ["evil/HEAD", "evil/config", "lib/.git"],
      use: "git -C lib status",
    },
  ],
  [
    "a directory in the place of a .git file",
    {
      setup: "git init -q --separate-git-dir ../store lib",
      script: both(() => `rm lib/.git; ${kPlain("lib/.git")}`, setting("lib/.git/config")),
      paths: ["lib/.git", "lib/.git/HEAD", "lib/.git/config"],
      use: "git -C lib status",
    },
  ],
  [
    "what a repository above the workspace names",
    {
      workspace: "workspace/packages/app",
      setup: "cd ../..; git init -q .; git config core.hooksPath packages/app/hooks",
      script: hook("hooks/pre-commit"),
      paths: ["hooks", "hooks/pre-commit"],
      use: kCommit,
    },
  ],
  [
    "a submodule, from within",
    {
      workspace: "workspace/lib",
      setup: `cd ..; ${kRepository}; ${kOther}; rmdir lib; git -c protocol.file.allow=always submodule --quiet add ../other lib; git -C lib config core.hooksPath hooks`,
      script: hook("hooks/pre-commit"),
      paths: ["hooks", "hooks/pre-commit"],
      use: kCommit,
    },
  ],
  [
    "the commands of a rebase",
    {
      setup: `${kRepository}; git commit -q --allow-empty -m two; GIT_SEQUENCE_EDITOR='sed -i s/^pick/edit/' git rebase -q -i HEAD~1 --keep-empty 2> ../rebase`,
      script: ({ mark }) => `echo "exec touch ${mark}" >> .git/rebase-merge/git-rebase-todo`,
      paths: [".git/rebase-merge/git-rebase-todo"],
      use: "git rebase --continue",
      isOnce: true,
    },
  ],
];

describeBackends("a commit of git's own", (openTransaction) => {
  test.each(kCases)("%s is refused unless it is named", async (_, one) => {
    const scene = new Scene(one.workspace);
    scene.do(one.setup);
    const { transaction, workspace } = await openTransaction(scene.workspace);
    expect(await run(transaction, one.script(scene))).toMatchObject({ exitCode: 0 });
    const changes = await transaction.changes({ details: true });
    const marked = changes.filter((change) => change.protected).map(({ path }) => path);
    expect(marked).toEqual(expect.arrayContaining(one.paths));
    const before = treeOf(workspace);
    const failure = await transaction.commit().catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "ERR_TRANSACTION_PROTECTED", paths: marked });
    expect(treeOf(workspace)).toEqual(before);
    if (!one.isOnce) expect(scene.runsCode(one.use)).toBe(false);
    await transaction.commit({ allowProtected: marked });
    expect(scene.runsCode(one.use), "the control").toBe(true);
    await transaction.discard();
  });

  test("what the user's own configuration includes is refused unless it is named", async () => {
    const scene = new Scene();
    scene.do(kRepository);
    const { workspace, top } = scene;
    process.env.HOME = join(top, "home");
    writeFileSync(join(workspace, "gitconfig"), "");
    symlinkSync(join(workspace, "gitconfig"), join(top, "home/.gitconfig"));
    const other = join(top, "home/.config/git");
    mkdirSync(other, { recursive: true });
    writeFileSync(join(other, "config"), "[core]\n\thooksPath = ~/../workspace/own\n");
    const { transaction } = await openTransaction(workspace);
    await run(transaction, both(setting("gitconfig"), hook("own/pre-commit"))(scene));
    const failure = await transaction.commit().catch((error: unknown) => error);
    expect(failure).toMatchObject({ paths: ["gitconfig", "own", "own/pre-commit"] });
    expect(scene.runsCode("git status")).toBe(false);
    await transaction.commit({ allowProtected: ["gitconfig"], paths: ["gitconfig"] });
    expect(scene.runsCode("git status"), "the control").toBe(true);
    await transaction.commit({ allowProtected: ["own"] });
    expect(scene.runsCode(kCommit), "the control").toBe(true);
    await transaction.discard();
  });

  test("what an approved configuration names is refused unless it is named too", async () => {
    const scene = new Scene();
    scene.do(kRepository);
    const { transaction } = await openTransaction(scene.workspace);
    const script = both(hook("tools/pre-commit"), () => "git config core.hooksPath tools");
    expect(await run(transaction, script(scene))).toMatchObject({ exitCode: 0 });
    const allowProtected = [".git/config"];
    const failure = await transaction.commit({ allowProtected }).catch((error: unknown) => error);
    expect(failure).toMatchObject({ paths: ["tools", "tools/pre-commit"] });
    await transaction.commit({ allowProtected: [...allowProtected, "tools"] });
    expect(scene.runsCode(kCommit), "the control").toBe(true);
    await transaction.discard();
  });

  test("a repository is not made in steps that each are none", async () => {
    const scene = new Scene();
    const { transaction, workspace } = await openTransaction(scene.workspace);
    const config = setting("sub/config", kWithTree(".."));
    await run(transaction, both(() => kPlain("sub"), config)(scene));
    const paths = ["sub/config", "sub/objects", "sub/HEAD"];
    await transaction.commit({ paths });
    expect(existsSync(join(workspace, "sub/HEAD"))).toBe(true);
    const failure = await transaction.commit().catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "ERR_TRANSACTION_PROTECTED", paths: ["sub/refs"] });
    expect(scene.runsCode("git -C sub status")).toBe(false);
    await transaction.commit({ allowProtected: ["sub/refs"] });
    expect(scene.runsCode("git -C sub status"), "the control").toBe(true);
    await transaction.discard();
  });

  test("what has such a name and is none is committed", async () => {
    const scene = new Scene();
    scene.do(`${kRepository}; git config core.hooksPath tools/hooks; mkdir sub; echo > sub/HEAD`);
    const { transaction, workspace } = await openTransaction(scene.workspace);
    const names = [
      "hooks/useThing.ts",
      "src/hooks/index.ts",
      "config",
      "src/config",
      "src/objects/one",
      "src/refs/two",
      "modules/a/hooks/x",
      "tools/hook",
      "sub/HEAD",
      "sub/objects/x",
      "worktrees/y/commondir",
    ];
    const make = names.map((name) => `mkdir -p "$(dirname ${name})"; echo x > ${name}`).join("; ");
    const git = "git -c user.name=Ada -c user.email=ada@a.test";
    const script = `set -e; ${make}; git add .; ${git} commit -q -m two; git branch more`;
    expect(await run(transaction, script)).toMatchObject({ exitCode: 0 });
    const changes = await transaction.changes({ details: true });
    expect(changes.filter((change) => change.protected)).toEqual([]);
    await transaction.commit();
    expect(scene.host("git status --porcelain; git log --format=%s more").stdout).toBe(
      "two\none\n",
    );
    expect(existsSync(join(workspace, "hooks/useThing.ts"))).toBe(true);
    appendFileSync(join(workspace, "config"), "y"); // it is the host's
    await transaction.discard();
  });
});
