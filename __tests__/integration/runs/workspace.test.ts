// As root too: limits, ids and set-up differ for root.
/** The workspace and the directory that a command starts in. */

import { mkdirSync, realpathSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";

import { BubblewrapNativeRunner, LocalNativeRunner } from "../support/package.js";
import { describeSandboxed } from "../support/requirements.js";
import { run } from "../support/results.js";
import { kRunners } from "../support/runners.js";
import { tempDirectory } from "../support/temp.js";

const kRoots = [
  undefined,
  "",
  ".",
  "/",
  "./",
  "//",
  "/workspace",
  "/workspace/",
  "workspace",
  "a/..",
  "/a/../.",
];
const kInside = ["a/b", "/a/b", "./a//b/", "workspace/a/b", "/workspace/a/b", "a/x/../b", "a/b/."];
const kOutside = [
  "..",
  "../",
  "/..",
  "a/../..",
  "a/b/../../..",
  "/workspace/..",
  "workspace/../x",
  "../workspace",
];

for (const [label, makeRunner] of kRunners) {
  describeSandboxed(`cwd, ${label}`, () => {
    const made = (): { workspace: string; root: string } => {
      const workspace = tempDirectory();
      mkdirSync(join(workspace, "a", "b"), { recursive: true });
      return { workspace, root: label === "local" ? realpathSync(workspace) : "/workspace" };
    };

    test.each(kRoots)("%j is the root", async (cwd) => {
      const { workspace, root } = made();
      const seen = await run(makeRunner(workspace), ["pwd", "-P"], { cwd });
      expect(seen).toMatchObject({ out: root, exitCode: 0 });
    });

    test.each(kInside)("%j is inside", async (cwd) => {
      const { workspace, root } = made();
      const seen = await run(makeRunner(workspace), ["pwd", "-P"], { cwd });
      expect(seen).toMatchObject({ out: `${root}/a/b`, exitCode: 0 });
    });

    test.each(kOutside)("%j leaves it, and rejects", async (cwd) => {
      const running = run(makeRunner(made().workspace), ["pwd"], { cwd });
      const error = await running.catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(TypeError);
      expect(error).toMatchObject({ code: "ERR_INVALID_ARG_VALUE" });
      const message = (error as Error).message;
      if (label === "local") {
        expect(message).toBe("LocalNativeRunner: cwd must be workspace-relative (no '..')");
      } else {
        expect(message).toContain("cwd");
      }
    });

    test("one that is missing is a set-up failure that names it", async () => {
      const seen = await run(makeRunner(made().workspace), ["pwd"], { cwd: "a/missing" });
      expect(seen).toMatchObject({ exitCode: 125, kind: "setup-failed", out: "" });
      expect(seen.err).toContain("a/missing");
    });

    test("a file is a set-up failure too", async () => {
      const { workspace } = made();
      writeFileSync(join(workspace, "file"), "");
      expect(await run(makeRunner(workspace), ["pwd"], { cwd: "file" })).toMatchObject({
        exitCode: 125,
      });
    });
  });
}

describeSandboxed("the workspace", () => {
  const makers = [
    ["strict", (shadowDir: string) => new BubblewrapNativeRunner({ shadowDir })],
    ["local", (shadowDir: string) => new LocalNativeRunner({ shadowDir })],
  ] as const;

  for (const [label, makeRunner] of makers) {
    test(`${label}: may be made after the runner, and again`, async () => {
      const workspace = join(tempDirectory(), "later");
      const runner = makeRunner(workspace);
      expect(await run(runner, ["true"])).toMatchObject({ exitCode: 125, kind: "setup-failed" });
      mkdirSync(workspace);
      expect(await run(runner, ["true"])).toMatchObject({ exitCode: 0 });
      renameSync(workspace, `${workspace}-moved`);
      expect(await run(runner, ["true"])).toMatchObject({ exitCode: 125 });
    });

    test(`${label}: a file is none`, async () => {
      const file = join(tempDirectory(), "file");
      writeFileSync(file, "");
      const seen = await run(makeRunner(file), ["true"]);
      expect(seen).toMatchObject({ exitCode: 125, kind: "setup-failed" });
      expect(seen.err).toContain(file);
    });

    test(`${label}: a link is followed, and the audit shows where to`, async () => {
      const parent = realpathSync(tempDirectory());
      mkdirSync(join(parent, "real"));
      symlinkSync("real", join(parent, "link"));
      const seen = await run(makeRunner(join(parent, "link")), "echo x > file");
      expect(seen.exitCode).toBe(0);
      expect((await run(makeRunner(join(parent, "real")), ["cat", "file"])).out).toBe("x");
      const [audit] = seen.result.audits;
      const shown = label === "local" ? audit?.cwd : audit?.argv.join("\n");
      expect(shown).toContain(join(parent, "real"));
      expect(shown).not.toContain(join(parent, "link"));
    });
  }

  test("what is written inside is there outside, and the other way round", async () => {
    const workspace = tempDirectory();
    writeFileSync(join(workspace, "in"), "from the host");
    const runner = new BubblewrapNativeRunner({ shadowDir: workspace });
    const seen = await run(
      runner,
      "cat in; mkdir -p d/e; echo x > d/e/f; ln -s f d/e/link; chmod 700 d; rm in",
    );
    expect(seen).toMatchObject({ out: "from the host", err: "", exitCode: 0 });
    const files = await run(
      new LocalNativeRunner({ shadowDir: workspace }),
      "find . -type f -o -type l | sort",
    );
    expect(files.out).toBe("./d/e/f\n./d/e/link");
  });

  test.each(["strict", "compat"] as const)("%s: can be read-only", async (isolation) => {
    const workspace = tempDirectory();
    writeFileSync(join(workspace, "in"), "from the host");
    const script = "cat in; echo x > in; echo y > new; mkdir d; ls";
    const options = { shadowDir: workspace, isolation };
    const sealed = new BubblewrapNativeRunner({ ...options, allowWriteWorkspace: false });
    const seen = await run(sealed, script);
    expect(seen.out).toBe("from the hostin");
    expect(seen.err.match(/Read-only file system/g)).toHaveLength(3);
    expect((await run(new BubblewrapNativeRunner(options), script)).out).toBe(
      "from the hostd\nin\nnew",
    );
  });

  test("a relative one is taken from the host's directory at the run", async () => {
    const parent = tempDirectory();
    const before = process.cwd();
    process.chdir(parent);
    try {
      mkdirSync("relative");
      const seen = await run(
        new BubblewrapNativeRunner({ shadowDir: "relative" }),
        "echo x > file",
      );
      expect(seen.exitCode).toBe(0);
      const [audit] = seen.result.audits;
      expect(audit?.argv).toContain(join(realpathSync(parent), "relative"));
    } finally {
      process.chdir(before);
    }
    expect(basename(parent)).toContain("native-runner");
  });
});
