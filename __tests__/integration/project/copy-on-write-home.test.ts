// As root too: it mounts overlays without a user namespace, and may give directories to others.
/**
 * Bwrap's home: commands write there, nothing of it reaches the host, and what the host has in it shows as it is.
 * That its secrets stay hidden is in secrets-stay-hidden.test.ts, everyday jobs in ../home/everyday-jobs.test.ts.
 */

import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";

import { treeOf } from "../../support/tree-of.js";
import { Bwrap } from "../support/package.js";
import { outerBwrap, type ProjectRun, runProjectHost } from "../support/project-host.js";
import { describeUnless, isRoot, testUnless, whyNoBindFd } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";

const kHome = "/mnt/home";
const kProject = "/mnt/project";

/** Has the files at /mnt, as a home on a disk is: an ordinary user's own directories are private inside. */
function makeTop(files: Record<string, string> = {}): string {
  const top = tempDirectory("home");
  for (const name of ["home", "project"]) mkdirSync(join(top, name));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(top, path)), { recursive: true });
    writeFileSync(join(top, path), text);
  }
  return top;
}

/** What the commands print, one after the other, in a host below an outer bwrap. */
async function textsOf(
  top: string,
  runs: (Partial<ProjectRun> & { command: string })[],
  mounts: string[] = [],
) {
  const outer = outerBwrap(top, ["--unshare-pid", "--proc", "/proc"]);
  const { ends } = await runProjectHost(
    runs.map((run) => ({ project: kProject, ...run })),
    {
      before: [...outer.slice(0, -1), "--bind", top, "/mnt", ...mounts, "--"],
      env: { HOME: kHome },
    },
  );
  return ends.map(({ text, error }) => text ?? `refused: ${error}`);
}

describeUnless(whyNoBindFd, "a Bwrap's home", () => {
  test("takes all that a command does there, and forgets it", async () => {
    const top = makeTop({
      "home/notes": "as before\n",
      "home/.cache/tool/entry": "cached\n",
      "home/.config/app": "settings\n",
      "home/old/file": "old\n",
    });
    const before = treeOf(join(top, "home"));
    const command = `cd ~; set -e; echo more >> notes; cat notes; mkdir -p .npm/_cacache; echo x > .npm/_cacache/x
mv .config/app .config/app2; cat .config/app2; rm -r old; test ! -e old; chmod 700 .cache/tool; ln notes linked
mkdir old; ls -A old; mv .npm .npm2; cat .npm2/_cacache/x; cat .cache/tool/entry`;
    const seen = "as before\nmore\nsettings\nx\ncached\n";
    const again = "ls -A ~ ~/old; cat ~/notes";
    expect(await textsOf(top, [{ command }, { command: again }])).toEqual([
      seen,
      `${kHome}:\n.cache\n.config\nnotes\nold\n\n${kHome}/old:\nfile\nas before\n`,
    ]);
    expect(treeOf(join(top, "home"))).toEqual(before);
  });

  test("control: a read-only one takes nothing", async () => {
    const command = "echo x 2>&1 > ~/x; echo end";
    const [text] = await textsOf(makeTop(), [{ command, options: { home: "read-only" } }]);
    expect(text).toMatch(/(Read-only file system|Permission denied)[\s\S]*end/);
  });

  test("shows the folders in it as they are: the host gets what is written there", async () => {
    const top = makeTop({ "home/work/project/a": "a\n", "home/shared/b": "b\n" });
    symlinkSync("hooks", join(top, "home/work/project/.husky"));
    mkdirSync(join(top, "home/work/project/hooks"));
    const command =
      "set -e; pwd; echo 2 >> a; echo 2 >> ~/shared/b; echo no > ~/work/beside; mv ~/shared/b ~/shared/c; " +
      "! touch hooks/x .npmrc .husky/x 2>/dev/null; ! rm .husky 2>/dev/null; cat ~/work/beside";
    const project = `${kHome}/work/project`;
    const additional = [`${kHome}/shared`];
    expect(await textsOf(top, [{ project, additional, command }])).toEqual([`${project}\nno\n`]);
    const files = treeOf(join(top, "home"));
    expect(readFileSync(join(top, "home/work/project/a"), "utf8")).toBe("a\n2\n");
    expect(readFileSync(join(top, "home/shared/c"), "utf8")).toBe("b\n2\n");
    expect(Object.keys(files).filter((path) => /beside|hooks\/x|npmrc/.test(path))).toEqual([]);
  });

  test("is the folder itself where the project is the home, or holds it", async () => {
    const top = makeTop({ "home/notes": "a\n" });
    const command = "echo b >> ~/notes; ! touch ~/.bashrc 2>/dev/null && echo protected";
    const runs = [
      { project: kHome, command },
      { project: "/mnt", command },
    ];
    expect(await textsOf(top, runs)).toEqual(["protected\n", "protected\n"]);
    expect(readFileSync(join(top, "home/notes"), "utf8")).toBe("a\nb\nb\n");
  });

  test("shows what the host has mounted in it, read-only, a folder in there too", async () => {
    const top = makeTop({ "disk/data": "of the disk\n", "disk/project/p": "p\n" });
    mkdirSync(join(top, "home/disk"));
    const mounts = ["--bind", join(top, "disk"), `${kHome}/disk`];
    const command =
      "cat ~/disk/data; (echo x > ~/disk/data) 2>/dev/null || echo read-only; (echo new > ~/new && cat ~/new) 2>/dev/null || echo none";
    const inside = "echo 2 >> p; (echo x > ../data) 2>/dev/null || echo read-only";
    const texts = await textsOf(
      top,
      [{ command }, { project: `${kHome}/disk/project`, command: inside }],
      mounts,
    );
    expect(texts).toEqual([`of the disk\nread-only\n${isRoot ? "new" : "none"}\n`, "read-only\n"]);
    expect(readFileSync(join(top, "disk/project/p"), "utf8")).toBe("p\n2\n");
    expect(readFileSync(join(top, "disk/data"), "utf8")).toBe("of the disk\n");
  });

  const kTouch = "touch ~/new 2>/dev/null && echo written || echo read-only";
  test.each<[string, string[], Partial<ProjectRun>]>([
    ["a secret that is all of it", [], { options: { secrets: ["/mnt/home"] } }],
    [
      "a secret that holds a folder",
      [],
      { project: `${kHome}/private/project`, options: { secrets: [`${kHome}/private`] } },
    ],
    [
      "a secret in what is mounted in it",
      ["--bind", "/mnt/disk", `${kHome}/disk`],
      { options: { secrets: [`${kHome}/disk/token`] } },
    ],
  ])("stays read-only, with its secrets hidden, for %s", async (_, mounts, run) => {
    const top = makeTop({
      "home/private/project/p": "p\n",
      "home/private/token": "PRIVATE\n",
      "disk/token": "PRIVATE\n",
    });
    mkdirSync(join(top, "home/disk"));
    const resolved = mounts.map((each) => each.replace("/mnt/disk", join(top, "disk")));
    const read = `cat ~/private/token ~/disk/token 2>/dev/null; ${kTouch}`;
    const control = { command: read, options: { secrets: [], home: "read-only" as const } };
    const [open, text] = await textsOf(top, [control, { command: read, ...run }], resolved);
    const isMounted = mounts.length > 0;
    expect(open, "the control").toBe(`${"PRIVATE\n".repeat(isMounted ? 2 : 1)}read-only\n`);
    expect(text).toBe(isMounted ? "PRIVATE\nread-only\n" : "read-only\n");
  });

  test("hides secrets by all their names, and makes nothing of them", async () => {
    const top = makeTop({ "home/.config/gh/hosts.yml": "PRIVATE\n", "home/.netrc": "PRIVATE\n" });
    symlinkSync(".config/gh", join(top, "home/linked"));
    const before = treeOf(join(top, "home"));
    const command = `cat ~/.netrc ~/linked/* ~/.config/gh/* 2>/dev/null; ls -A ~/.config/gh
rm -rf ~/.config ~/.netrc 2>/dev/null; mv ~/.config ~/moved 2>/dev/null; grep -rs PRIVATE ~ ; ls -A ~/.config`;
    expect(await textsOf(top, [{ command }])).toEqual(["gh\n"]);
    expect(treeOf(join(top, "home"))).toEqual(before);
  });

  test("has no fifo or socket of the host", async () => {
    const top = makeTop();
    const command = `cd ~; python3 - <<'E'
import os, socket
os.mkfifo("fifo") if not os.path.exists("fifo") else None
end = os.open("fifo", os.O_RDWR | os.O_NONBLOCK); os.write(end, b"x"); print(os.read(end, 9))
E`;
    expect(await textsOf(top, [{ command }])).toEqual(["b'x'\n"]);
    expect(treeOf(join(top, "home"))).toEqual({});
  });

  test("has a bound", async () => {
    const command = "head -c 50000000 /dev/zero > ~/large; stat -c %s ~/large";
    const limits = { memoryBytes: 16 << 20 };
    const [text] = await textsOf(makeTop(), [{ command, options: { limits } }]);
    expect(text).toMatch(/No space left on device/);
    expect(Number(/^(\d+)$/m.exec(text ?? "")?.[1])).toBeLessThanOrEqual(16 << 20);
  });

  test.each(["overlay", "copy"] as const)(
    "beside a transaction (%s) of a project in it",
    async (backend) => {
      const top = makeTop({ "home/project/a": "a\n" });
      mkdirSync(join(top, "home/state"), { mode: 0o700 });
      const options = { transaction: { directory: `${kHome}/state`, backend } };
      const command = "pwd; echo 2 >> a; echo x > ~/x; cat a ~/x; ls ~";
      const project = `${kHome}/project`;
      expect(await textsOf(top, [{ project, options, command }])).toEqual([
        `${project}\na\n2\nx\nproject\nstate\nx\n`,
      ]);
      expect(readFileSync(join(top, "home/project/a"), "utf8")).toBe("a\n");
      expect(readdirSync(join(top, "home"))).toEqual(["project", "state"]);
      expect(readdirSync(join(top, "home/project"))).toEqual(["a"]);
    },
  );

  testUnless(
    isRoot ? undefined : "only root can give directories away",
    "hides what is in another user's directory",
    async () => {
      const top = makeTop({ "home/.config/gh/hosts.yml": "PRIVATE\n", "home/.config/a": "a\n" });
      chownSync(join(top, "home/.config"), 12345, 12345);
      chmodSync(join(top, "home/.config"), 0o750);
      const command = "cd ~/.config; stat -c %a .; ls -A . gh; cat a";
      expect(await textsOf(top, [{ command }])).toEqual(["750\n.:\na\ngh\n\ngh:\na\n"]);
    },
  );

  test("is refused by a value that the option does not have", () => {
    const project = tempDirectory();
    // @ts-expect-error
    const make = (home: string) => new Bwrap(project, [], false, { home });
    expect(() => make("private")).toThrow(
      'Expected `home` to be "copy-on-write" or "read-only", got "private"',
    );
  });
});
