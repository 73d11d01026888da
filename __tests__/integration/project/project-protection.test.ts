// As root too: root's secrets and protections.
/**
 * What runs code by itself (git hooks, dotfiles) stays as it is though the project is writable, also
 * where it does not exist yet; and nothing is left in the project for it.
 */

import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test, vi } from "vitest";
import { eventually, kHungMs } from "../../support/waits.js";
import { kNodeProgram } from "../support/node-arguments.js";
import { Bwrap } from "../support/package.js";
import { describeSandboxed } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";

const kEnv = { PATH: process.env.PATH, HOME: "/nonexistent", GIT_CONFIG_NOSYSTEM: "1" };

function repository(): string {
  const project = tempDirectory("protected");
  execFileSync("git", ["init", "-q", project], { env: kEnv });
  writeFileSync(join(project, ".envrc"), "# mine\n");
  return project;
}

/** All that is in a folder, with what each file says. */
function snapshot(folder: string): string[] {
  const line =
    'find . -not -path "./.git/objects*" | sort | while read -r f; do echo "$f"; test -f "$f" && cat "$f"; done; true';
  return execFileSync("sh", ["-c", line], { cwd: folder, encoding: "utf8" }).split("\n");
}

/** Ways to get code run later, each of which says "done it" where it works. */
const kAttacks: [string, string][] = [
  ["a hook", "echo evil > .git/hooks/pre-commit"],
  ["git's configuration", "echo evil >> .git/config"],
  ["git config", "git config core.fsmonitor evil"],
  ["a dotfile that exists", "echo evil > .envrc"],
  ["a dotfile in its place", "rm -f .envrc && echo evil > .envrc"],
  ["a dotfile renamed over it", "echo evil > x && mv -f x .envrc && test -s .envrc"],
  ["another .git in its place", "mv .git old && mkdir -p .git/hooks"],
  ["the hooks moved away", "mv .git/hooks .git/old && mkdir .git/hooks"],
  ["a dotfile that is missing", "echo evil > .npmrc"],
  ["a directory that is missing", "mkdir -p .vscode && echo evil > .vscode/tasks.json"],
  ["a missing one renamed into place", "echo evil > y && mv -T y .husky"],
  ["a missing one by exchange", "mkdir z && mv -T z .husky && test -d z"],
  ["a missing one by link", "echo evil > l && ln -fT l .mcp.json"],
  ["a missing file renamed into place", "echo evil > n && mv -f n .npmrc"],
  ["a missing file removed first", "rm -f .pnpmfile.cjs && echo evil > .pnpmfile.cjs"],
  ["a missing file that becomes a directory", "rm -f .yarnrc.yml && mkdir .yarnrc.yml"],
  ["a missing one removed first", "rmdir .claude && mkdir .claude"],
];

const attempt = ([name, script]: [string, string]) =>
  `( ${script} ) 2>/dev/null && echo "done it: ${name}"`;

describeSandboxed("a project", () => {
  test("keeps what runs code, and nothing of the protection stays", async () => {
    const project = repository();
    const before = snapshot(project);
    const script = kAttacks.map(attempt).join("\n");
    const text = await new Bwrap(project).exec(`${script}\nrm -rf x y z l n old; ls -A; echo end`);
    expect(text).not.toContain("done it");
    expect(text).toContain("end\n");
    expect(snapshot(project)).toEqual(before);
  });

  test.each(kAttacks)("control: %s works without the protection", async (name, script) => {
    const project = repository();
    // What only undoes a placeholder needs a directory to be there.
    if (script.startsWith("rmdir")) mkdirSync(join(project, ".claude"));
    if (script.includes("mv -T z")) script = script.replace("&& test -d z", "");
    const bwrap = new Bwrap(project, [], false, { readOnly: [] });
    expect(await bwrap.exec(attempt([name, script]))).toContain("done it");
  });

  test("is used as before: edits, builds, commits", async () => {
    const project = repository();
    const text = await new Bwrap(project).exec(
      "echo new > file && git add file && git -c user.name=a -c user.email=a@b commit -qm m && git log --format=%s",
    );
    expect(text).toBe("m\n");
    const status = execFileSync("git", ["status", "--short"], {
      cwd: project,
      encoding: "utf8",
      env: kEnv,
    });
    expect(status).toBe("?? .envrc\n");
  });

  test("inside a shared folder is protected too, and can't be moved out of the way", async () => {
    const top = tempDirectory("outer");
    const project = join(top, "inner");
    mkdirSync(project);
    execFileSync("git", ["init", "-q", project], { env: kEnv });
    const text = await new Bwrap(project, [top]).exec(
      "mv ../inner ../gone; echo evil > .git/hooks/x; pwd; echo fine > ../other",
    );
    expect(text).toMatch(new RegExp(`^${project}\n`));
    expect(existsSync(join(project, ".git", "hooks", "x"))).toBe(false);
    expect(readdirSync(top).sort()).toEqual(["inner", "other"]);
  });

  test("is protected to the end of the last of several commands", async () => {
    const project = tempDirectory("several");
    const bwrap = new Bwrap(project);
    const wait = (name: string) => `touch ${name}; until test -e go-${name}; do sleep 0.01; done`;
    const first = bwrap.exec(`${wait("a")}; mkdir .husky && echo "done it"`);
    const second = new Bwrap(project).exec(
      `${wait("b")}; mkdir .husky && echo "done it"; echo end`,
    );
    await eventually("both run", () => ["a", "b"].every((name) => existsSync(join(project, name))));
    expect(lstatSync(join(project, ".husky")).isDirectory()).toBe(true);
    writeFileSync(join(project, "go-a"), "");
    expect(await first).not.toContain("done it");
    writeFileSync(join(project, "go-b"), "");
    expect(await second).toMatch(/end\n/);
    expect(await second).not.toContain("done it");
    expect(readdirSync(project).sort()).toEqual(["a", "b", "go-a", "go-b"]);
  });

  // For root no mode is in the way; this suite runs as an ordinary user too.
  test.each(["555", "444", "000"])(
    "leaves nothing behind in what was made mode %s",
    async (mode) => {
      const project = repository();
      mkdirSync(join(project, "empty"));
      const before = snapshot(project);
      const bwrap = new Bwrap(project);
      const text = await bwrap.exec(`chmod ${mode} .git . && echo closed`);
      const modeOf = (path: string) => (lstatSync(path).mode & 0o7777).toString(8).padStart(3, "0");
      const modes = [modeOf(project)];
      chmodSync(project, 0o755);
      modes.push(modeOf(join(project, ".git")));
      chmodSync(join(project, ".git"), 0o755);
      expect(text).toBe("closed\n");
      expect(modes).toEqual([mode, mode]);
      expect(snapshot(project)).toEqual(before);
    },
  );

  test("is protected where its owner, or a command, has made it unwritable", async () => {
    const project = tempDirectory("unwritable");
    const bwrap = new Bwrap(project);
    expect(await bwrap.exec("chmod 555 .; echo closed")).toBe("closed\n");
    const attempts = "chmod 755 .; touch made; mkdir .husky && echo 'done it'; echo end";
    expect(await bwrap.exec(attempts)).not.toContain("done it");
    expect(readdirSync(project)).toEqual(["made"]);
  });

  test("leaves nothing behind when a command is ended", async () => {
    const project = tempDirectory("ended");
    const controller = new AbortController();
    const running = new Bwrap(project).exec("touch up; sleep 60", { signal: controller.signal });
    await eventually("it runs", () => existsSync(join(project, "up")));
    controller.abort();
    expect(await running).toBe("Exit code: 130 (aborted)");
    expect(readdirSync(project)).toEqual(["up"]);
  });

  test("leaves nothing behind when its host exits in the middle of a command", () => {
    const project = tempDirectory("exit");
    const program = fileURLToPath(new URL("../hosts/project-exit.mjs", import.meta.url));
    const { status, stdout } = spawnSync(kNodeProgram, [program, project], {
      encoding: "utf8",
      timeout: kHungMs,
    });
    expect(status).toBe(3);
    expect(JSON.parse(stdout)).toEqual(expect.arrayContaining([".git", ".vscode", "up"]));
    expect(readdirSync(project)).toEqual(["up"]);
  });

  test("that is the home directory keeps its start-up files, which others may make", async () => {
    const home = tempDirectory("home");
    vi.stubEnv("HOME", home);
    const script =
      'for f in .bashrc .zshenv .config/git; do mkdir -p "$f/x" && echo "made $f"; done; echo end';
    const inHome = new Bwrap(home);
    const inProject = new Bwrap(tempDirectory("other"));
    vi.unstubAllEnvs();
    const text = await inHome.exec(script);
    expect(text).not.toContain("made");
    expect(text).toContain("end\n");
    expect(readdirSync(home)).toEqual([]);
    expect(await inProject.exec(script)).toBe(
      "made .bashrc\nmade .zshenv\nmade .config/git\nend\n",
    );
  });

  test("takes over what a killed process left behind", async () => {
    const project = tempDirectory("left");
    mkdirSync(join(project, ".husky"));
    mkdirSync(join(project, ".vscode"));
    execFileSync("chmod", ["1755", join(project, ".husky")]); // as a placeholder has it
    await new Bwrap(project).exec("true");
    expect(readdirSync(project)).toEqual([".vscode"]); // an empty one of the user's stays
  });

  test.each([
    [{ readOnly: ["/etc"] }, /`readOnly\[0\]`/],
    [{ readOnly: ["a", "../b"] }, /`readOnly\[1\]`/],
    [{ readOnly: ["."] }, /`readOnly\[0\]`/],
    [{ secrets: ["x"] }, /`secrets\[0\]`/],
    [{ secrets: "x" }, /`secrets`/],
    [{ timeoutMs: 0 }, /`limits.timeoutMs`/],
    [{ limits: { maxStdoutBytes: -1 } }, /`limits.maxStdoutBytes`/],
    [{ envPolicy: "all" }, /`envPolicy`/],
    [{ bwrapPath: "" }, /`bwrapPath`/],
  ])("option %j is refused", async (options, message) => {
    const project = tempDirectory("misuse");
    const make = async () => new Bwrap(project, [], false, options as never).exec("echo ran");
    await expect(make()).rejects.toThrow(message);
  });

  test("wants a command that is a string, and a network that is a boolean", async () => {
    const project = tempDirectory("misuse");
    await expect(new Bwrap(project).exec(["ls"] as never)).rejects.toThrow(/`command`/);
    await expect(new Bwrap(project).exec("a\0b")).rejects.toThrow(/NUL/);
    expect(() => new Bwrap(project, [], "no" as never)).toThrow(/`allowNetwork`/);
    expect(() => new Bwrap("/")).toThrow(/`folders\[0\]`/);
    expect(() => new Bwrap("/proc")).toThrow(/`folders\[0\]`/);
  });
});
