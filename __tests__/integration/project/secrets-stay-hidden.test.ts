// As root too: root's secrets and protections.
/**
 * Secrets stay hidden whatever the host does to them while a command runs, and what a read-only root
 * does not keep from being written, fifos, is refused too. The home directory is below an outer
 * bwrap's /mnt, since nothing of /tmp would show inside.
 */

import { execFileSync, spawnSync } from "node:child_process";
import {
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

import { eventually } from "../../support/waits.js";
import type { BwrapOptions } from "../support/package.js";
import { outerBwrap, type ProjectRun, runProjectHost } from "../support/project-host.js";
import { describeSandboxed, describeUnless } from "../support/requirements.js";
import { whyNo } from "../support/runtimes.js";
import { tempDirectory } from "../support/temp.js";

/** Relative to the home directory: those that are there at the start, and those that are not. */
const kThere = [".netrc", ".git-credentials", ".ssh/id_rsa", ".config/gh/hosts.yml"];
const kLinked = ".aws/credentials"; // its directory is a link into `elsewhere`
const kMissing = [".npmrc", ".kube/config", ".config/op/config", ".cargo/credentials.toml"];
const kSecrets = [...kThere, kLinked, ...kMissing];

function makeScene() {
  const top = tempDirectory("secrets");
  const [project, home, elsewhere] = ["project", "home", "elsewhere"].map((name) => {
    mkdirSync(join(top, name));
    return join(top, name);
  }) as [string, string, string];
  for (const name of [".ssh", ".config", ".config/gh", ".config/tool", ".cargo", ".cargo/bin"]) {
    mkdirSync(join(home, name));
  }
  symlinkSync("/mnt/elsewhere", join(home, ".aws"));
  writeFileSync(join(elsewhere, "credentials"), "PRIVATE old\n");
  for (const path of kThere) writeFileSync(join(home, path), "PRIVATE old\n");
  for (const path of ["notes", ".config/tool/settings", ".cargo/bin/tool"]) {
    writeFileSync(join(home, path), "not private\n");
  }
  return { top, project, home, elsewhere };
}

type Scene = ReturnType<typeof makeScene>;

/** A new file, written beside and renamed over, as editors and tools do. */
function replace(path: string): void {
  writeFileSync(`${path}.new`, "PRIVATE new\n");
  renameSync(`${path}.new`, path);
}

/** What the host does to its secrets while a command runs. */
function changeAll({ home, elsewhere }: Scene): void {
  replace(join(home, ".netrc"));
  replace(join(home, ".git-credentials"));
  // A directory that is removed and made anew takes the mask on it along.
  rmSync(join(home, ".ssh"), { recursive: true });
  rmSync(join(home, ".config", "gh"), { recursive: true });
  renameSync(elsewhere, `${elsewhere}.old`);
  mkdirSync(elsewhere);
  for (const name of [".ssh", ".kube", ".config/gh", ".config/op"]) mkdirSync(join(home, name));
  for (const path of [...kThere.slice(2), ...kMissing]) replace(join(home, path));
  replace(join(elsewhere, "credentials"));
}

/** Runs these in a host below an outer bwrap, with the scene at /mnt. */
async function runIn({ top, home }: Scene, runs: ProjectRun[]) {
  const before = outerBwrap(top, ["--unshare-pid", "--proc", "/proc"]);
  const shown = [...before.slice(0, -1), "--bind", top, "/mnt", "--"];
  expect(home).toBe(join(top, "home"));
  return runProjectHost(runs, { before: shown, env: { HOME: "/mnt/home" } });
}

/** Reads all of these in the middle of a command, after `change`. */
async function readAfter(scene: Scene, paths: string[], options: BwrapOptions) {
  const shown = paths.map((path) => `'${path}'`).join(" ");
  const command = `cd ~; touch /mnt/project/up; until test -e /mnt/project/go; do sleep 0.01; done
    for path in ${shown}; do cat "$path" 2>/dev/null && echo "read $path"; done; echo end`;
  const running = runIn(scene, [{ project: "/mnt/project", command, options }]);
  await eventually("the command runs", () => existsSync(join(scene.project, "up")));
  changeAll(scene);
  writeFileSync(join(scene.project, "go"), "");
  const { ends } = await running;
  return ends[0]?.text;
}

describeSandboxed("a project's secrets", () => {
  describeUnless(whyNo("landlock"), "while a command runs", () => {
    describe.each(["copy-on-write", "read-only"] as const)("in a home that is %s", (home) => {
      test("that are replaced or made by the host stay hidden", async () => {
        const open = ["notes", ".config/tool/settings", ".cargo/bin/tool"];
        const text = await readAfter(makeScene(), [...kSecrets, ...open], { home });
        expect(text).toBe(`${open.map((path) => `not private\nread ${path}\n`).join("")}end\n`);
      });

      test("control: what is on no list is read, replaced or not", async () => {
        const text = await readAfter(makeScene(), kSecrets, { secrets: [], home });
        for (const path of kSecrets) expect(text).toContain(`PRIVATE new\nread ${path}\n`);
      });
    });

    /** What a command reads that the host makes in the home meanwhile, and the next one. */
    async function readMade(options: BwrapOptions) {
      const scene = makeScene();
      writeFileSync(join(scene.home, "..", "project", "go"), "");
      const line = "cat ~/made 2>&1; echo end";
      const waiting = `touch up; until test -e made; do sleep 0.01; done; ${line}`;
      const project = "/mnt/project";
      const running = runIn(scene, [
        { project, options, command: waiting },
        { project, options, command: line },
      ]);
      await eventually("the command runs", () => existsSync(join(scene.project, "up")));
      writeFileSync(join(scene.home, "made"), "of the host\n");
      writeFileSync(join(scene.project, "made"), "");
      const { ends } = await running;
      return ends.map(({ text }) => text);
    }

    test("and so does what else is made beside them in a read-only home, until the next command", async () => {
      const [first, next] = await readMade({ home: "read-only" });
      expect(first).toMatch(/Permission denied\nend\n$/);
      expect(next).toBe("of the host\nend\n");
    });

    test("in one that is copy-on-write it is read at once", async () => {
      expect(await readMade({})).toEqual(["of the host\nend\n", "of the host\nend\n"]);
    });
  });

  describeUnless(whyNo("landlock"), "a read-only root", () => {
    test("has no fifos that can be written; those of the project can", async () => {
      const scene = makeScene();
      const fifos = [join(scene.home, "fifo"), join(scene.project, "fifo")];
      const readers = fifos.map((fifo) => {
        spawnSync("mkfifo", [fifo]);
        return openSync(fifo, constants.O_RDWR | constants.O_NONBLOCK);
      });
      const command =
        "for f in /mnt/home/fifo /mnt/project/fifo; do (echo leaked > $f) 2>&1 && echo wrote $f; done; true";
      const options = { home: "read-only" } as const;
      const { ends } = await runIn(scene, [{ project: "/mnt/project", command, options }]);
      const got = readers.map((reader) => {
        try {
          return readSync(reader, Buffer.alloc(64));
        } catch (error) {
          return (error as NodeJS.ErrnoException).code;
        } finally {
          closeSync(reader);
        }
      });
      expect(ends[0]?.text).toMatch(/home\/fifo: Permission denied\nwrote \/mnt\/project\/fifo\n$/);
      expect(got).toEqual(["EAGAIN", "leaked\n".length]);
    });
  });

  test("leave the rest of the machine as usable as before", async () => {
    const scene = makeScene();
    execFileSync("cp", ["/bin/true", join(scene.home, "program")]);
    const command = `set -e; cd /mnt/project
mkdir -p a b; echo x > a/x; mv a/x b/; ln b/x a/y; ln -s b/x l; truncate -s 0 b/x; rm -r a
echo t > /tmp/t; echo t > /var/tmp/t; echo t > /dev/shm/t; mv /tmp/t moved; mkfifo f; echo n > /dev/null
ls / /home /etc ~ > /dev/null; ~/program; head -c 1 /dev/urandom > /dev/null
grep -q ^root: /etc/passwd; test -r /proc/self/status; (exec 3<>/dev/ptmx); echo fine`;
    const { ends } = await runIn(scene, [{ project: "/mnt/project", command }]);
    expect(ends[0]?.text).toBe("fine\n");
  });
});
