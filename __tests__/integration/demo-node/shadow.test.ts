/** The shadow workspace: what is in the copy, and that it shares nothing with the project. */

import { spawnSync } from "node:child_process";
import { linkSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";

import { ShadowWorkspace } from "../../../examples/demo-node/workspace/shadow.js";
import { isRoot, plainEnvironment } from "../support/gate.js";
import { makeProject, readTree, type Tree } from "./support/tree.js";

const opened: ShadowWorkspace[] = [];

async function shadowOf(tree: Tree | string): Promise<ShadowWorkspace> {
  const project = typeof tree === "string" ? tree : makeProject(tree);
  const shadow = await ShadowWorkspace.of(project);
  opened.push(shadow);
  return shadow;
}

afterEach(async () => {
  for (const shadow of opened.splice(0)) await shadow.remove();
});

/** Runs a script in the shadow, as a command without a sandbox would. */
function inShadow({ directory }: ShadowWorkspace, script: string): void {
  const done = spawnSync("sh", ["-c", script], {
    cwd: directory,
    encoding: "utf8",
    env: plainEnvironment(),
  });
  expect(done.stderr).toBe("");
  expect(done.status).toBe(0);
}

describe("the copy", () => {
  test("has the files, links and empty directories of the project, as they are", async () => {
    const tree = {
      "a.txt": "text",
      "bin/run": "#!/bin/sh\n",
      "deep/er/b": "bytes \u0000 \u{1f600}",
      "empty/": "",
      link: "-> deep/er/b",
      "deep/up": "-> ../a.txt",
      "-rf": "a leading dash",
      "new\nline": "a newline",
    };
    const shadow = await shadowOf(tree);
    expect(readTree(shadow.directory)).toEqual(readTree(shadow.project));
    expect(statSync(join(shadow.directory, "bin/run")).mode & 0o111).not.toBe(0);
    expect(statSync(join(shadow.directory, "a.txt")).mode & 0o111).toBe(0);
    expect(shadow.leftOut).toEqual([]);
    expect(await shadow.changes()).toEqual({ changes: [], leftOut: [] });
  });

  test("shares no file with the project, nor within itself", async () => {
    const project = makeProject({ one: "before" });
    linkSync(join(project, "one"), join(project, "two"));
    const shadow = await shadowOf(project);
    for (const name of ["one", "two"]) {
      const [inside, outside] = [shadow.directory, project].map((at) => statSync(join(at, name)));
      expect(inside?.ino).not.toBe(outside?.ino);
      expect(inside?.nlink).toBe(1);
      expect(outside?.nlink).toBe(2);
    }
    writeFileSync(join(shadow.directory, "one"), "changed");
    expect(readTree(project)).toEqual({ one: "before", two: "before" });
  });

  test("is made anew in a place that only its owner can look into", async () => {
    const { directory } = await shadowOf({ a: "" });
    expect(statSync(join(directory, "..")).mode & 0o777).toBe(0o700);
  });

  test("is not made of what is no directory, nor where it would lie in the project", async () => {
    const project = makeProject({ a: "" });
    await expect(ShadowWorkspace.of(join(project, "a"))).rejects.toThrow(
      /--project .* no directory/,
    );
    await expect(ShadowWorkspace.of(join(project, "b"))).rejects.toThrow(
      /--project .* no directory/,
    );
    await expect(ShadowWorkspace.of("/")).rejects.toThrow(/in the project itself; set TMPDIR/);
  });
});

describe("ignored files", () => {
  test("stay out: .git, and what .gitignore files say, the nearest first", async () => {
    const shadow = await shadowOf({
      ".git/config": "secret",
      ".git/info/exclude": "excluded\n",
      ".gitignore": "node_modules\n*.log\n/only-top\nbuild/\n!kept.log\n# x\nCase\n",
      "node_modules/x/index.js": "",
      "a.log": "",
      "kept.log": "kept",
      "only-top": "",
      "sub/only-top": "kept",
      "build/out": "",
      "sub/build": "a file, not a directory",
      excluded: "",
      case: "kept",
      "sub/.gitignore": "!b.log\nlocal\n",
      "sub/b.log": "kept",
      "sub/local": "",
      "sub/deep/local": "",
      local: "kept",
      "vendor/.git/HEAD": "",
    });
    expect(Object.keys(readTree(shadow.directory))).toEqual([
      ".gitignore",
      "case",
      "kept.log",
      "local",
      "sub/.gitignore",
      "sub/b.log",
      "sub/build",
      "sub/deep/",
      "sub/only-top",
      "vendor/",
    ]);
  });

  test("are no changes either, by the rules that the project had when it was copied", async () => {
    const shadow = await shadowOf({ ".gitignore": "node_modules\n" });
    inShadow(
      shadow,
      `mkdir -p node_modules .git/hooks sub/.GIT; echo x > node_modules/x
       echo x > .git/hooks/pre-commit; echo x > sub/.GIT/config; echo '*.js' > .gitignore; echo x > a.js`,
    );
    const { changes } = await shadow.changes();
    expect(changes.map(({ place }) => place)).toEqual([".gitignore", "a.js", "sub"]);
  });
});

describe("what can't be copied", () => {
  test("is left out with the reason: links that leave the project, special files", async () => {
    const project = makeProject({
      absolute: "-> /etc/passwd",
      up: "-> ../outside",
      "sub/up": "-> ../../outside",
      self: "-> .",
      through: "-> self/..",
      "into-itself": "-> /nonexistent",
      "sub/fine": "-> ../self",
    });
    expect(spawnSync("mkfifo", [join(project, "fifo")]).status).toBe(0);
    const shadow = await shadowOf(project);
    expect(readTree(shadow.directory)).toEqual({ self: "-> .", "sub/fine": "-> ../self" });
    const reasons = Object.fromEntries(shadow.leftOut.map(({ place, reason }) => [place, reason]));
    expect(reasons).toEqual({
      absolute: "a link that leaves the project (/etc/passwd)",
      up: "a link that leaves the project (../outside)",
      "sub/up": "a link that leaves the project (../../outside)",
      through: "a link that leaves the project (self/..)",
      "into-itself": "a link that leaves the project (/nonexistent)",
      fifo: "not a file, directory or link",
    });
  });

  test("includes names that are no text, and files larger than the limit", async () => {
    const project = makeProject({ fine: "" });
    const name = Buffer.concat([Buffer.from(`${project}/`), Buffer.from([0x62, 0xff])]);
    writeFileSync(name, "");
    expect(spawnSync("truncate", ["-s", "257M", join(project, "large")]).status).toBe(0);
    const shadow = await shadowOf(project);
    expect(readTree(shadow.directory)).toEqual({ fine: "" });
    expect(shadow.leftOut.map(({ reason }) => reason).sort()).toEqual([
      "its name is not UTF-8",
      "too large",
    ]);
  });
});

describe("whatever a command leaves in it", () => {
  test("is looked at without following, waiting or failing", async () => {
    const shadow = await shadowOf({ a: "1", "d/x": "2", s: "3" });
    inShadow(
      shadow,
      `rm -r d; ln -s /etc d; rm a; mkfifo a; ln -s ../../x leaving; truncate -s 300M large
       mkdir -p shut/in; echo x > shut/in/side; echo y > fine; rm s; ln -s fine s`,
    );
    const { changes, leftOut } = await shadow.changes();
    expect(leftOut.map(({ place }) => place).sort()).toEqual(["a", "d", "large", "leaving"]);
    const places = changes.map(({ place }) => place);
    expect(places).toEqual(["fine", "s", "shut", "shut/in", "shut/in/side"]);
  });

  test("may be unreadable (but for root): not known is not deleted", async () => {
    const shadow = await shadowOf({ "d/x": "1", f: "2" });
    inShadow(shadow, "chmod 0 d f; echo new > g");
    const { changes, leftOut } = await shadow.changes();
    const unreadable = ["f", "d"].map((place) => ({ place, reason: "can't be read (EACCES)" }));
    expect(leftOut).toEqual(isRoot ? [] : unreadable);
    expect(changes.map(({ place }) => place)).toEqual(["g"]);
  });

  test("is removed with it: no access, and paths longer than a path may be", async () => {
    const shadow = await shadowOf({ a: "" });
    inShadow(
      shadow,
      `mkdir -p shut/in; echo x > shut/in/side; chmod 0 shut/in; chmod 0 shut
       long=$(printf '%0200d/' 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
       mkdir -p "$long" "b/$long"; mv b "$long"`,
    );
    await shadow.changes();
    await shadow.remove();
    expect(() => statSync(join(shadow.directory, ".."))).toThrow(/ENOENT/);
  });
});
