/**
 * What a command leaves in a repository does not run when the host uses git there: the commands' git
 * works on it, in worktrees, submodules and bare repositories too. Real git, and as control the same
 * without the protection.
 */

import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { Bwrap } from "../support/package.js";
import { describeSandboxed } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";

const kAuthor = ["-c", "user.name=a", "-c", "user.email=a@b"];
const kEnv = {
  PATH: process.env.PATH,
  HOME: "/nonexistent",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_COUNT: "1",
  GIT_CONFIG_KEY_0: "protocol.file.allow",
  GIT_CONFIG_VALUE_0: "always",
};

const git = (directory: string, ...args: string[]) =>
  execFileSync("git", ["-C", directory, ...kAuthor, ...args], {
    env: kEnv,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });

/** A scene: `top` holds all; `evil`, which every attack plants, would make `ran`. */
type Scene = { top: string; ran: string; project: string };

/** An empty project, with the program that must not run. */
function scene(name: string): Scene {
  const top = tempDirectory("git");
  const project = join(top, name);
  mkdirSync(project);
  const ran = join(top, "ran");
  writeFileSync(join(top, "evil"), `#!/bin/sh\ntouch '${ran}'\n`, { mode: 0o755 });
  return { top, ran, project };
}

function repository(name = "main"): Scene {
  const made = scene(name);
  git(made.project, "init", "-q");
  git(made.project, "commit", "-q", "--allow-empty", "-m", "first");
  return made;
}

/** A repository `main` with two worktrees, `wt` and `other`; the project is `wt`. */
function worktrees(): Scene {
  const made = repository();
  git(made.project, "config", "extensions.worktreeConfig", "true");
  for (const name of ["wt", "other"]) git(made.project, "worktree", "add", "-q", `../${name}`);
  return { ...made, project: join(made.top, "wt") };
}

/** A repository with a submodule `sub`. */
function withSubmodule(): Scene {
  const library = repository("library");
  const made = repository();
  git(made.project, "submodule", "--quiet", "add", library.project, "sub");
  git(made.project, "commit", "-qm", "with it");
  return made;
}

function configured(key: string, value: string): Scene {
  const made = repository();
  git(made.project, "config", key, value);
  return made;
}

function bare(): Scene {
  const made = scene("bare");
  git(made.project, "init", "-q", "--bare");
  return made;
}

type Attack = {
  title: string;
  make: () => Scene;
  /** Folders below `top` that are shared besides the project. */
  shared?: string[];
  /** Plants $EVIL; $TOP is `top`. */
  script: string;
  /** Where the host uses git then, below `top`. */
  used: string;
  /** What it does there. Default: looks and commits. */
  use?: (directory: string) => void;
};

const kCommon = "$TOP/main/.git";
/** A git directory at $1 whose configuration is evil. */
const kDecoy =
  'decoy() { git init -q "$1.d" && mv "$1.d/.git" "$1" && git --git-dir="$1" config core.fsmonitor "$EVIL"; }; decoy';

const push = (directory: string) => {
  const { project } = repository("pusher");
  git(project, "push", "-q", directory, "HEAD:refs/heads/pushed");
};

const kAttacks: Attack[] = [
  {
    title: "a hook of the common directory",
    make: worktrees,
    shared: ["main/.git"],
    script: `cp "$EVIL" ${kCommon}/hooks/pre-commit`,
    used: "wt",
  },
  {
    title: "the same, where the whole repository is shared",
    make: worktrees,
    shared: ["main"],
    script: `cp "$EVIL" ${kCommon}/hooks/pre-commit`,
    used: "wt",
  },
  {
    title: "the same, where all is in one folder",
    make: worktrees,
    shared: ["."],
    script: `cp "$EVIL" ${kCommon}/hooks/pre-commit`,
    used: "wt",
  },
  {
    title: "the common configuration",
    make: worktrees,
    shared: ["main/.git"],
    script: 'git config core.fsmonitor "$EVIL"',
    used: "wt",
  },
  {
    title: "a worktree's configuration",
    make: worktrees,
    shared: ["main/.git"],
    script: `git config -f ${kCommon}/worktrees/wt/config.worktree core.fsmonitor "$EVIL"`,
    used: "wt",
  },
  {
    title: "a worktree that is led to another common directory",
    make: worktrees,
    shared: ["main/.git"],
    script: `${kDecoy} $PWD/d && echo "$PWD/d" > ${kCommon}/worktrees/wt/commondir`,
    used: "wt",
  },
  {
    title: "another worktree, led to another common directory",
    make: worktrees,
    shared: ["main/.git"],
    script: `${kDecoy} $PWD/d && echo "$PWD/d" > ${kCommon}/worktrees/other/commondir`,
    used: "other",
  },
  {
    title: "a worktree's .git that leads elsewhere",
    make: worktrees,
    shared: ["main/.git"],
    script: `${kDecoy} $PWD/d && echo "gitdir: $PWD/d" > .git`,
    used: "wt",
  },
  {
    title: "another worktree's .git that leads elsewhere",
    make: worktrees,
    shared: ["main/.git", "other"],
    script: `${kDecoy} $PWD/d && echo "gitdir: $PWD/d" > ../other/.git`,
    used: "other",
  },
  {
    title: "the main repository led to another common directory",
    make: worktrees,
    shared: ["main/.git"],
    script: `${kDecoy} $PWD/d && echo "$PWD/d" > ${kCommon}/commondir`,
    used: "main",
  },
  {
    title: "an ordinary repository led to another common directory",
    make: repository,
    script: `${kDecoy} $PWD/d && echo ../d > .git/commondir`,
    used: "main",
  },
  {
    title: "the main worktree's configuration",
    make: () => configured("extensions.worktreeConfig", "true"),
    script: 'git config -f .git/config.worktree core.fsmonitor "$EVIL"',
    used: "main",
  },
  {
    title: "a file that the configuration includes",
    make: () => {
      const made = configured("include.path", "../shared.config");
      writeFileSync(join(made.project, "shared.config"), "[alias]\n\ts = status\n");
      return made;
    },
    script: 'git config -f shared.config core.fsmonitor "$EVIL"',
    used: "main",
  },
  {
    title: "a file that it includes and that is missing",
    make: () => configured("includeIf.gitdir:/.path", "../none/shared.config"),
    script: 'mkdir -p none && git config -f none/shared.config core.fsmonitor "$EVIL"',
    used: "main",
  },
  {
    title: "hooks elsewhere in the project",
    make: () => {
      const made = configured("core.hooksPath", "tools/hooks");
      mkdirSync(join(made.project, "tools", "hooks"), { recursive: true });
      return made;
    },
    script: 'cp "$EVIL" tools/hooks/pre-commit',
    used: "main",
  },
  {
    title: "a submodule's hook",
    make: withSubmodule,
    script: 'cp "$EVIL" .git/modules/sub/hooks/pre-commit',
    used: "main/sub",
  },
  {
    title: "a submodule's configuration, which git in the project obeys",
    make: withSubmodule,
    script: 'git config -f .git/modules/sub/config core.fsmonitor "$EVIL"',
    used: "main",
  },
  {
    title: "a submodule led to another common directory",
    make: withSubmodule,
    script: `${kDecoy} $PWD/d && echo "$PWD/d" > .git/modules/sub/commondir`,
    used: "main",
  },
  {
    title: "a submodule's .git that leads elsewhere",
    make: withSubmodule,
    script: `${kDecoy} $PWD/d && git --git-dir=d config core.worktree "$PWD/sub" && echo "gitdir: ../d" > sub/.git`,
    used: "main/sub",
  },
  {
    title: "a hook of a bare repository",
    make: bare,
    script: 'cp "$EVIL" hooks/post-receive',
    used: "bare",
    use: push,
  },
  {
    title: "a folder that becomes a bare repository",
    make: () => scene("plain"),
    script:
      'git init -q --bare . && git config core.bare false && git config core.worktree "$PWD" && git config core.fsmonitor "$EVIL"',
    used: "plain",
  },
  {
    title: "a new repository's hook",
    make: () => scene("plain"),
    script: 'git init -q . && cp "$EVIL" .git/hooks/pre-commit',
    used: "plain",
  },
  {
    title: "a new repository's hook by another case of the name",
    make: () => scene("plain"),
    script:
      'git init -q . && rm -r .git/hooks && mkdir .git/Hooks && cp "$EVIL" .git/Hooks/pre-commit && ln -s Hooks .git/hooks',
    used: "plain",
  },
  {
    title: "a new repository's configuration",
    make: () => scene("plain"),
    script: 'git init -q . && git config core.fsmonitor "$EVIL"',
    used: "plain",
  },
  {
    title: "a new repository's hooks elsewhere",
    make: () => scene("plain"),
    script: 'git init -q . && mkdir h && cp "$EVIL" h/pre-commit && git config core.hooksPath h',
    used: "plain",
  },
  {
    title: "a file that a new repository's configuration includes",
    make: () => scene("plain"),
    script:
      'git init -q . && git config include.path ../more && git config -f more core.fsmonitor "$EVIL"',
    used: "plain",
  },
  {
    title: "a link as a new repository's configuration",
    make: () => scene("plain"),
    script:
      'git init -q . && git config core.fsmonitor "$EVIL" && mv .git/config more && ln -s ../more .git/config',
    used: "plain",
  },
  {
    title: "a new repository's configuration of its worktree",
    make: () => scene("plain"),
    script:
      'git init -q . && git config extensions.worktreeConfig true && git config -f .git/config.worktree core.fsmonitor "$EVIL"',
    used: "plain",
  },
  {
    title: "a new repository led to another common directory",
    make: () => scene("plain"),
    script: `git init -q . && ${kDecoy} $PWD/d && echo ../d > .git/commondir`,
    used: "plain",
  },
  {
    title: "a new repository's submodule",
    make: () => scene("plain"),
    script: `git init -q . && git init -q lib && git -C lib -c user.name=a -c user.email=a@b commit -q --allow-empty -m one && git -c protocol.file.allow=always submodule add -q ./lib sub && git config -f .git/modules/sub/config core.fsmonitor "$EVIL"`,
    used: "plain",
  },
  {
    title: "a new repository's further worktree",
    make: () => scene("plain"),
    script:
      'git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one && git config extensions.worktreeConfig true && git worktree add -q w && git config -f .git/worktrees/w/config.worktree core.fsmonitor "$EVIL"',
    used: "plain/w",
  },
];

function useGit(directory: string): void {
  for (const words of [["status"], ["commit", "-q", "--allow-empty", "-m", "the host's"]]) {
    const env = kEnv;
    spawnSync("git", ["-C", directory, ...kAuthor, ...words], { env, stdio: "ignore" });
  }
}

/** Attacks, and has the host use git; whether what was planted ran. */
async function runs(
  { make, shared = [], script, used, use = useGit }: Attack,
  readOnly?: string[],
) {
  const { top, ran, project } = make();
  const folders = shared.map((name) => join(top, name));
  const bwrap = new Bwrap(project, folders, false, readOnly && { readOnly });
  const text = await bwrap.exec(
    `TOP=${top} EVIL=$PWD/evil; export GIT_CONFIG_NOSYSTEM=1 HOME=/nonexistent
printf '#!/bin/sh\\ntouch "${ran}"\\n' > "$EVIL"; chmod 755 "$EVIL"
{ ${script}; } >/dev/null 2>&1; echo end`,
  );
  expect(text).toContain("end\n");
  use(join(top, used));
  return existsSync(ran);
}

describeSandboxed("git on the host, after a command", () => {
  test.each(kAttacks.map((attack) => [attack.title, attack] as const))(
    "runs nothing of the command's: %s",
    async (_, attack) => {
      expect(await runs(attack)).toBe(false);
    },
  );

  test.each(kAttacks.map((attack) => [attack.title, attack] as const))(
    "control, without the protection it would: %s",
    async (_, attack) => {
      expect(await runs(attack, [])).toBe(true);
    },
  );

  const kWork =
    "echo new > file && git add file && git -c user.name=a -c user.email=a@b commit -qm mine && " +
    "git checkout -qb branch && git stash list && git gc -q && git status --short && git log -1 --format=%s";

  test.each([
    ["a repository", repository, []],
    ["a worktree", worktrees, ["main/.git"]],
    ["a repository with a submodule", withSubmodule, []],
  ] as const)("works on what was committed in %s", async (_, make, shared) => {
    const { top, project } = make();
    const folders = shared.map((name) => join(top, name));
    const before = readdirSync(join(top, "main", ".git")).filter((name) => name !== "config.lock");
    expect(await new Bwrap(project, folders).exec(kWork)).toBe("mine\n");
    expect(git(project, "log", "-1", "--format=%s")).toBe("mine\n");
    expect(git(project, "status", "--short")).toBe("");
    git(project, "fsck", "--strict");
    const after = readdirSync(join(top, "main", ".git"));
    expect(after).toEqual(expect.arrayContaining(before));
    for (const name of ["commondir", "config.worktree"]) expect(after).not.toContain(name);
  });

  test("runs nothing of the command's where it goes by a link that a command could replace", async () => {
    const attack: Attack = {
      title: "a link to the hooks",
      make: () => {
        const made = configured("core.hooksPath", "hooks");
        mkdirSync(join(made.project, "tools"));
        symlinkSync("tools", join(made.project, "hooks"));
        return made;
      },
      script:
        'cp "$EVIL" tools/pre-commit; rm -f hooks && mkdir hooks && cp "$EVIL" hooks/pre-commit',
      used: "main",
    };
    expect(await runs(attack)).toBe(false);
    expect(await runs(attack, [])).toBe(true);
  });

  test("works while a command runs", async () => {
    const { project } = repository();
    const running = new Bwrap(project).exec(
      "touch up; until test -e go; do sleep 0.01; done; ls .git",
    );
    await expect.poll(() => existsSync(join(project, "up"))).toBe(true);
    expect(git(project, "status", "--short")).toBe("?? up\n");
    git(project, "commit", "-q", "--allow-empty", "-m", "meanwhile");
    expect(git(project, "worktree", "list").trim().split("\n")).toHaveLength(1);
    writeFileSync(join(project, "go"), "");
    expect(await running).toContain("commondir\n");
    expect(git(project, "log", "-1", "--format=%s")).toBe("meanwhile\n");
    expect(existsSync(join(project, ".git", "commondir"))).toBe(false);
  });
});
