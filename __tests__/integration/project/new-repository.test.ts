// As root too: it may give files to others, and looks at none of the modes.
/** `git init` in a project that has no repository: it works, and the host gets the repository when the command ends. */

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { eventually } from "../../support/waits.js";
import { kNodeProgram } from "../support/node-arguments.js";
import { Bwrap } from "../support/package.js";
import { describeSandboxed } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";

const kEnv = { PATH: process.env.PATH, HOME: "/nonexistent", GIT_CONFIG_NOSYSTEM: "1" };
const kCommit = "git -c user.name=a -c user.email=a@b commit -qm";
const kPackage = new URL("../../../dist/index.js", import.meta.url).href;

const git = (directory: string, ...args: string[]) =>
  execFileSync("git", ["-C", directory, ...args], { encoding: "utf8", env: kEnv, stdio: "pipe" });

/** Ends with the host, by SIGKILL, once the command has made `ready`. */
async function killedHost(project: string, line: string): Promise<void> {
  const script = `import { Bwrap } from ${JSON.stringify(kPackage)};
    await new Bwrap(${JSON.stringify(project)}).exec(${JSON.stringify(`${line}; touch ready; sleep 1000`)});`;
  const host = spawn(kNodeProgram, ["--input-type=module", "-e", script], { stdio: "ignore" });
  await eventually("the command has worked", () => existsSync(join(project, "ready")));
  host.kill("SIGKILL");
  await once(host, "exit");
}

describeSandboxed("git init in a project without a repository", () => {
  test("makes the same as on the host, without the entries that stand for missing names", async () => {
    const [inside, outside] = [tempDirectory("inside"), tempDirectory("outside")];
    const line =
      `git init -b trunk . && echo one > a && git add -A && ${kCommit} one && git status --short && ` +
      "git log --format=%s && ls";
    const text = await new Bwrap(inside).exec(line);
    const control = execFileSync("sh", ["-c", line], {
      cwd: outside,
      encoding: "utf8",
      env: { ...process.env, HOME: "/nonexistent" },
    });
    expect(text.replaceAll(inside, "DIR").replace("HEAD\n", "")).toBe(
      control.replaceAll(outside, "DIR"),
    );
    for (const words of [
      ["log", "--format=%s"],
      ["status", "--short"],
      ["ls-files"],
      ["fsck"],
      ["config", "--local", "--list"],
    ]) {
      expect(git(inside, ...words), words.join(" ")).toBe(git(outside, ...words));
    }
    const own = (directory: string) => readdirSync(join(directory, ".git")).sort();
    expect(own(inside)).toEqual(own(outside));
    expect(readdirSync(inside).sort()).toEqual([".git", "a"]);
    expect(lstatSync(join(inside, ".git")).mode & 0o7777).toBe(0o755);
    expect(await new Bwrap(inside).exec(`echo two > b && git add b && ${kCommit} two`)).toBe("");
    expect(git(inside, "log", "--format=%s")).toBe("two\none\n");
  });

  test("with sha256, a template of one's own, and a second init", async () => {
    const project = tempDirectory("sha256");
    const text = await new Bwrap(project).exec(
      `mkdir -p t/info && echo mine > t/description && git init -q --template=t --object-format=sha256 && git init -q && ${kCommit} one --allow-empty`,
    );
    expect(text).toBe("");
    expect(git(project, "rev-parse", "HEAD")).toMatch(/^[0-9a-f]{64}\n$/);
    expect(readFileSync(join(project, ".git/description"), "utf8")).toBe("mine\n");
  });

  test("is protected from the next command on", async () => {
    const project = tempDirectory("next");
    const bwrap = new Bwrap(project);
    await bwrap.exec("git init -q");
    const text = await bwrap.exec(
      "for name in config hooks/pre-commit config.worktree commondir; do echo x > .git/$name && echo written; done 2>/dev/null; git config core.fsmonitor x && echo set; true",
    );
    expect(text).not.toMatch(/written|set/);
  });

  test("settings and hooks that git would obey are kept where it does not look", async () => {
    const project = tempDirectory("left");
    await new Bwrap(project).exec(
      "git init -q; git config core.fsmonitor ./evil; git config user.name Bea; git remote add origin https://example.test/x; echo run > .git/hooks/pre-commit",
    );
    expect(git(project, "config", "user.name")).toBe("Bea\n");
    expect(readFileSync(join(project, ".git/config"), "utf8")).not.toMatch(/fsmonitor|remote/);
    const left = join(project, ".git/native-runner-left-out");
    expect(readFileSync(join(left, "config"), "utf8")).toMatch(/fsmonitor = .\/evil[\s\S]*remote/);
    expect(readFileSync(join(left, "hooks/pre-commit"), "utf8")).toBe("run\n");
  });

  test("is not there for the host while a command can change it", async () => {
    const project = tempDirectory("meanwhile");
    const bwrap = new Bwrap(project);
    const wait = (name: string) => `touch ${name}; until test -e go-${name}; do sleep 0.01; done`;
    const first = bwrap.exec(`git init -q; git config core.fsmonitor ./evil; ${wait("a")}`);
    await eventually("the first has made it", () => existsSync(join(project, "a")));
    const second = new Bwrap(project).exec(`git config core.fsmonitor; ${wait("b")}`);
    await eventually("both run", () => existsSync(join(project, "b")));
    expect(() => git(project, "rev-parse", "--git-dir")).toThrow(/not a git repository/);
    writeFileSync(join(project, "go-a"), "");
    await first;
    expect(() => git(project, "rev-parse", "--git-dir")).toThrow(/not a git repository/);
    writeFileSync(join(project, "go-b"), "");
    expect(await second).toBe("./evil\n");
    expect(git(project, "rev-parse", "--git-dir")).toBe(".git\n");
    expect(git(project, "config", "--list", "--local")).not.toContain("evil");
  });

  test("what a killed host has left is whole after the next command", async () => {
    const project = tempDirectory("killed");
    await killedHost(
      project,
      `git init -q -b main; ${kCommit} kept --allow-empty; echo x > .git/hooks/post-commit`,
    );
    await eventually("its sandbox has ended", async () => {
      await new Bwrap(project).exec("true");
      return existsSync(join(project, ".git/HEAD"));
    });
    expect(git(project, "log", "--format=%s")).toBe("kept\n");
    expect(readdirSync(join(project, ".git"))).not.toContain("native-runner-new");
    expect(existsSync(join(project, ".git/hooks/post-commit"))).toBe(false);
    expect(readdirSync(project).sort()).toEqual([".git", "ready"]);
  });

  test("where nothing was made nothing is left, whatever was tried", async () => {
    const project = tempDirectory("nothing");
    const text = await new Bwrap(project).exec(
      "git status; rmdir .git; mv .git x; rm -rf .git; git init -q --separate-git-dir=../y .; echo end",
    );
    expect(text).toMatch(/^end\n/);
    expect(readdirSync(project)).toEqual([]);
  });

  test("of a project in a folder that has a repository, and of a second folder", async () => {
    const top = tempDirectory("outer");
    const [inner, other] = [join(top, "inner"), tempDirectory("other")];
    mkdirSync(inner);
    git(top, "init", "-q");
    const text = await new Bwrap(inner, [other]).exec(
      `git init -q && git -C ${other} init -q && git rev-parse --git-dir`,
    );
    expect(text).toBe(".git\n");
    for (const each of [inner, other]) {
      expect(git(each, "rev-parse", "--show-toplevel")).toBe(`${each}\n`);
    }
  });

  test("control: where all of .git is protected there is none", async () => {
    const project = tempDirectory("all");
    const bwrap = new Bwrap(project, [], false, { readOnly: [".git"] });
    expect(await bwrap.exec("git init -q")).toMatch(/Exit code: 1/);
    expect(readdirSync(project)).toEqual([]);
  });

  test("a directory that is closed to us stays as it is", async () => {
    const project = tempDirectory("closed");
    await new Bwrap(project).exec("git init -q && chmod 500 .git .git/refs");
    expect(git(project, "rev-parse", "--git-dir")).toBe(".git\n");
    expect(statSync(join(project, ".git/refs")).mode & 0o777).toBe(0o500);
  });
});
