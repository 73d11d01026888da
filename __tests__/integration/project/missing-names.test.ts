// As root too: the start-up files of root's own home, and mounts without a user namespace.
/**
 * Protected names that do not exist, and those that are links, do not get in the way of the tools that look for
 * them: real npm, git, bash, and others, in the sandbox and on the host meanwhile. That commands can't make them
 * is in project-protection.test.ts.
 */

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test, vi } from "vitest";

import { eventually } from "../../support/waits.js";
import { kNodeProgram } from "../support/node-arguments.js";
import { Bwrap } from "../support/package.js";
import { describeSandboxed, testUnless } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";

const kEnv = { PATH: process.env.PATH, HOME: "/nonexistent", GIT_CONFIG_NOSYSTEM: "1" };
const kCommit = "git -c user.name=a -c user.email=a@b commit -qm m";

const git = (directory: string, ...args: string[]) =>
  execFileSync("git", ["-C", directory, ...args], { env: kEnv, encoding: "utf8" });

function packageWithDependency(): string {
  const project = tempDirectory("package");
  mkdirSync(join(project, "dep"));
  writeFileSync(join(project, "dep", "package.json"), '{"name":"dep","version":"1.0.0"}');
  const text = '{"name":"x","version":"1.0.0","dependencies":{"dep":"file:./dep"}}';
  writeFileSync(join(project, "package.json"), text);
  return project;
}

/** The path below node_modules; null where it is not installed. */
function installed(path: string): string | null {
  const program = fileURLToPath(new URL(`../../../node_modules/${path}`, import.meta.url));
  return existsSync(program) ? program : null;
}
const kPnpm = installed("pnpm");

/** Runs `use` on the host while a command runs in the project, and returns what it returned. */
async function meanwhile<T>(project: string, use: () => T): Promise<T> {
  const running = new Bwrap(project).exec(
    "touch up; until test -e go; do sleep 0.01; done; rm up go",
  );
  try {
    await eventually("it runs", () => existsSync(join(project, "up")));
    return use();
  } finally {
    writeFileSync(join(project, "go"), "");
    expect(await running).toBe("");
  }
}

describeSandboxed("protected names that do not exist", () => {
  test("are files where programs read files, and directories elsewhere", async () => {
    const project = tempDirectory("names");
    const text = await new Bwrap(project).exec(
      `find . -path ./.git -prune -o -type f -size 0 -print; find . -path ./.git -prune -o -type f -size +0 -print; find . -type d`,
    );
    const [files, directories] = [/^\.\/\.(npmrc|pnpmfile\.cjs|yarnrc\.yml|mcp\.json)$/, /^\./];
    const lines = text.trim().split("\n");
    expect(lines.slice(0, 4).every((line) => files.test(line))).toBe(true);
    expect(lines.slice(3, 5)).toEqual(["./.mcp.json", "."]);
    expect(lines.slice(5).filter((line) => files.test(line))).toEqual([]);
    expect(lines.slice(5).every((line) => directories.test(line))).toBe(true);
    expect(lines).toContain("./.envrc");
    expect(readdirSync(project)).toEqual([]);
  });

  test("let npm install, in the sandbox and on the host", async () => {
    const project = packageWithDependency();
    const line = `npm install --offline --no-audit --no-fund --cache=$PWD/cache`;
    expect(await new Bwrap(project).exec(line)).toMatch(/^\s*added 1 package/);
    expect(readdirSync(project)).toContain("package-lock.json");
    const args = ["install", "--offline", "--no-audit", "--no-fund", `--cache=${project}/cache`];
    const env = { ...kEnv, HOME: project };
    const options = { cwd: project, encoding: "utf8", env } as const;
    expect(await meanwhile(project, () => execFileSync("npm", args, options))).toMatch(
      /up to date/,
    );
  });

  const whyNoPnpm = kPnpm === null ? "there is no pnpm" : undefined;
  testUnless(whyNoPnpm, "let pnpm install, without a trace in its lock file", async () => {
    const project = packageWithDependency();
    cpSync(kPnpm ?? "", join(project, "pnpm"), { recursive: true, dereference: true });
    const bwrap = new Bwrap(project, [], false, { secrets: [] });
    const text = await bwrap.exec(
      `HOME=$PWD/h COREPACK_ENABLE_STRICT=0 node pnpm/bin/pnpm.cjs install --offline`,
    );
    expect(text).toContain("+ dep 1.0.0");
    expect(readFileSync(join(project, "pnpm-lock.yaml"), "utf8")).not.toMatch(/pnpmfile/i);
  });

  test("are neither listed nor added by git, which keeps its own list of names", async () => {
    const project = tempDirectory("listed");
    git(project, "init", "-q");
    const exclude = join(project, ".git", "info", "exclude");
    writeFileSync(exclude, "*.log\nlast-line-without-end");
    const line = `echo new > file; echo > x.log; git status --short; git add -A; ${kCommit}; git ls-files`;
    expect(await new Bwrap(project).exec(line)).toBe("?? file\nfile\n");
    expect(await meanwhile(project, () => git(project, "status", "--short"))).toBe("?? up\n");
    expect(readFileSync(exclude, "utf8")).toBe("*.log\nlast-line-without-end");
  });

  test("are hidden from a git that has no list of names, and none is left", async () => {
    const project = tempDirectory("no-list");
    git(project, "init", "-q", "--template=");
    expect(existsSync(join(project, ".git", "info"))).toBe(false);
    expect(await new Bwrap(project).exec("git status --short")).toBe("");
    expect(existsSync(join(project, ".git", "info"))).toBe(false);
  });

  test("do not stay when the host is killed: the next command removes them", async () => {
    const project = tempDirectory("killed");
    git(project, "init", "-q");
    const before = readFileSync(join(project, ".git", "info", "exclude"), "utf8");
    const script = `
      import { Bwrap } from ${JSON.stringify(new URL("../../../dist/index.js", import.meta.url).href)};
      await new Bwrap(process.argv[1]).exec("touch up; sleep 60");`;
    const host = spawn(kNodeProgram, ["--input-type=module", "-e", script, project], {
      stdio: "ignore",
    });
    await eventually("it runs", () => existsSync(join(project, "up")));
    host.kill("SIGKILL");
    await once(host, "exit");
    expect(lstatSync(join(project, ".npmrc")).isFile()).toBe(true); // control: there is something to remove
    expect(await new Bwrap(project).exec("git status --short")).toBe("?? up\n");
    expect(readdirSync(project).sort()).toEqual([".git", "up"]);
    expect(readFileSync(join(project, ".git", "info", "exclude"), "utf8")).toBe(before);
  });
});

describeSandboxed("a project that is the home", () => {
  const kWork = [
    "bash -lc 'echo \"login $FROM_PROFILE\"'",
    "git init -q sub && git -C sub status --short && echo git works",
    "mkdir -p .config/app .local/share && echo mine > .config/app/settings && cat .config/app/settings",
    'mkdir p && cd p && echo \'{"name":"x"}\' > package.json && npm install --offline --no-audit --no-fund --cache="$HOME/.npm"',
  ].join("; ");

  test("works with bash, git and npm; what was made in its directories stays", async () => {
    const home = tempDirectory("whole-home");
    writeFileSync(join(home, ".profile"), "FROM_PROFILE=read; export FROM_PROFILE\n");
    vi.stubEnv("HOME", home);
    const bwrap = new Bwrap(home);
    vi.unstubAllEnvs();
    const text = await bwrap.exec(`export HOME=${home}; ${kWork}`);
    expect(text).toMatch(/^login read\ngit works\nmine\n/);
    expect(text).toMatch(/up to date/);
    expect(readdirSync(home).sort()).toEqual([".config", ".local", ".npm", ".profile", "p", "sub"]);
    expect(readdirSync(join(home, ".config"))).toEqual(["app"]);
    expect(lstatSync(join(home, ".config")).mode & 0o7777).toBe(0o755);
  });

  test("has a host whose login shells read what they read without a command", async () => {
    const home = tempDirectory("login-home");
    writeFileSync(join(home, ".profile"), "echo read\n");
    vi.stubEnv("HOME", home);
    const env = { ...kEnv, HOME: home };
    const login = () => execFileSync("bash", ["-lc", ":"], { env, encoding: "utf8" });
    try {
      expect(await meanwhile(home, login)).toBe("read\n");
    } finally {
      vi.unstubAllEnvs();
    }
    expect(login()).toBe("read\n");
  });
});

type Layout = { name: string; target: (project: string, outside: string) => string };

/** Where people have links in the place of protected names. */
const kLayouts: Layout[] = [
  { name: ".husky", target: () => "tools/hooks" },
  { name: ".githooks", target: (_, outside) => join(outside, "hooks") },
  { name: ".envrc", target: (_, outside) => join(outside, "file") },
  { name: ".npmrc", target: (project) => join(project, "tools", "file") },
  { name: ".vscode", target: () => "./tools/../tools/hooks" },
  { name: ".mcp.json", target: () => "tools/missing" },
  { name: ".claude", target: () => "missing/one" },
];

/** Ways to change what `$1` is, each of which says "done it" where it works. */
const kLinkAttacks = [
  'rm -f "$1"',
  'mv -T "$1" gone',
  'ln -sfnT elsewhere "$1"',
  'echo x > x && mv -fT x "$1"',
  'echo evil > "$1/evil"',
  'echo evil >> "$1"',
  'mv -T tools moved && { test -e "$1"; there=$?; mv -T moved tools; test $there != 0; }',
  'mkdir -p missing/one && echo evil > missing/one/evil; test -e "$1/evil"',
  'rm -rf "$(readlink "$1")" && test ! -e "$(readlink "$1")" && test ! -e "$1"',
];

describeSandboxed("a protected name that is a link", () => {
  const layout = ({ name, target }: Layout) => {
    const top = tempDirectory("linked");
    const [project, outside] = [join(top, "project"), join(top, "outside")];
    for (const each of [join(project, "tools", "hooks"), join(outside, "hooks")]) {
      mkdirSync(each, { recursive: true });
      writeFileSync(join(each, "pre-commit"), "mine\n");
    }
    for (const each of [join(project, "tools"), outside])
      writeFileSync(join(each, "file"), "mine\n");
    symlinkSync(target(project, outside), join(project, name));
    return { project, outside, text: target(project, outside) };
  };
  const tree = (directory: string) =>
    execFileSync("sh", ["-c", "find . | sort; grep -r . ."], { cwd: directory, encoding: "utf8" });
  const script = ({ name }: Layout, attack: string) =>
    `set -- ${name}; ( ${attack} ) 2>/dev/null && echo "done it: ${attack.replaceAll('"', "'").replaceAll("$", "")}"; rm -rf x gone; rm -rf missing 2>/dev/null`;

  test.each(kLayouts.filter(({ target }) => !target("", "").includes("..")))(
    "$name stays, and what it leads to",
    async (each) => {
      const { project, outside, text } = layout(each);
      const before = tree(join(project, ".."));
      const lines = kLinkAttacks.map((attack) => script(each, attack)).join("\n");
      const said = await new Bwrap(project, [outside]).exec(
        `${lines}\nreadlink ${each.name}; echo end`,
      );
      expect(said).not.toContain("done it");
      expect(said).toContain(`${text}\nend\n`);
      expect(readlinkSync(join(project, each.name))).toBe(text);
      expect(tree(join(project, ".."))).toBe(before);
    },
  );

  test.each(kLinkAttacks)("control: %s works without the protection", async (attack) => {
    const done = await Promise.all(
      kLayouts.map(async (each) => {
        const { project, outside } = layout(each);
        const bwrap = new Bwrap(project, [outside], false, { readOnly: [] });
        return (await bwrap.exec(script(each, attack))).includes("done it");
      }),
    );
    expect(done).toContain(true);
  });

  test("whose path goes back by .. after a name is refused, with the path", async () => {
    const each = kLayouts.find(({ name }) => name === ".vscode") as Layout;
    const { project } = layout(each);
    await expect(new Bwrap(project).exec("echo ran")).rejects.toMatchObject({
      code: "ERR_SANDBOX_SETUP",
      message: expect.stringMatching(
        /\.vscode can't be protected: it is a link whose path goes back/,
      ),
      fix: expect.stringContaining("readOnly"),
    });
    const readOnly = [".git/hooks"];
    expect(await new Bwrap(project, [], false, { readOnly }).exec("echo ran")).toBe("ran\n");
  });

  test("may be .git: the repository works, and its hooks are protected", async () => {
    const top = tempDirectory("linked-git");
    const project = join(top, "project");
    git(top, "init", "-q", "project");
    execFileSync("mv", [join(project, ".git"), join(project, "store")]);
    symlinkSync("store", join(project, ".git"));
    const line = `echo a > a; git add a; ${kCommit}; git log --format=%s; rm -f .git && echo 'done it'; echo evil > store/hooks/pre-commit && echo 'done it'`;
    const text = await new Bwrap(project).exec(line);
    expect(text).toMatch(/^m\n/);
    expect(text).not.toContain("done it");
    const open = await new Bwrap(project, [], false, { readOnly: [] }).exec(
      "echo x > store/hooks/pre-commit && rm -f .git && echo 'done it'",
    );
    expect(open).toBe("done it\n");
  });
});
