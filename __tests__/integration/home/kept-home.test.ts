/** Homes that outlive a run: a transaction's, a workspace's kept one, and a directory of the caller's choice. */

import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { cloning } from "../clones/cloning-runners.js";
import { command, kCli } from "../support/built-cli.js";
import { BubblewrapNativeRunner, type BubblewrapNativeRunnerOptions } from "../support/package.js";
import { describeSandboxed } from "../support/requirements.js";
import { run } from "../support/results.js";
import { kMark, live, type MadeHome, madeHome, snapshot } from "./made-home.js";

type Options = Partial<BubblewrapNativeRunnerOptions>;

let made: MadeHome & { remove: () => void };
let other: string;
let chosen: string;

const optionsOf = (options: Options): BubblewrapNativeRunnerOptions => ({
  shadowDir: made.workspace,
  ...options,
});

function closing(runner: BubblewrapNativeRunner): BubblewrapNativeRunner {
  onTestFinished(() => runner.close());
  return runner;
}
const cold = (options: Options) =>
  closing(new BubblewrapNativeRunner(optionsOf({ clone: "never", prewarm: 0, ...options })));
const cloned = async (options: Options) => closing(await cloning(optionsOf(options)));

describeSandboxed("a home on the host", () => {
  beforeAll(() => {
    made = madeHome();
    other = join(made.state, "other-project");
    chosen = join(made.state, "chosen");
    mkdirSync(other, { recursive: true });
    mkdirSync(chosen);
    made.env.XDG_STATE_HOME = join(made.state, "kept");
  });
  afterAll(() => made.remove());
  beforeEach(() => live(made));

  const kHomes: [name: string, home: () => Options["home"]][] = [
    ["kept", () => "kept"],
    ["of the caller's choice", () => ({ directory: chosen })],
  ];

  describe.each(kHomes)("%s", (_name, home) => {
    test("keeps what commands put there, in each kind of run", async () => {
      const before = snapshot(made.home);
      await run(cold({ home: home() }), "mkdir -p ~/.cache/x; echo 1 > ~/.cache/x/y");
      const readers = [
        await cloned({ home: home() }),
        cold({ home: home() }),
        await cold({ home: home() }).openSession(),
      ];
      for (const runner of readers) {
        const seen = await run(runner, "cat ~/.cache/x/y; deno; git config user.email");
        expect(seen.out).toBe("1\ndeno 99\nada@example.test");
        await run(runner, "echo 1 > ~/.cache/x/y");
      }
      expect(snapshot(made.home)).toEqual(before);
    });

    test("has no secret, and nothing shown in it can be written", async () => {
      const look = `grep -rl ${kMark} ~ 2>/dev/null; touch ~/.deno/bin/z 2>/dev/null && echo written; touch ~/z && echo end`;
      expect((await run(cold({ home: home() }), look)).out).toBe("end");
    });

    test("keeps the git settings that a command has made", async () => {
      await run(cold({ home: home() }), "git config --global user.name Kept");
      expect((await run(cold({ home: home() }), "git config user.name")).out).toBe("Kept");
    });

    test("a link that a command made is no way for tools to be shown elsewhere", async () => {
      const plant = "rm -rf ~/.deno; mkdir ~/hidden; ln -s hidden ~/.deno";
      const planted = await run(cold({ home: home(), tools: "none" }), plant);
      expect(planted.exitCode).toBe(0);
      const seen = await run(cold({ home: home() }), "true");
      expect(seen.result.outcome).toMatchObject({
        kind: "setup-failed",
        reason: expect.stringMatching(
          /the host's tools and caches can't be shown at .*\.deno" in the home/,
        ),
      });
      const removed = "rm ~/.deno; ls ~/hidden";
      expect((await run(cold({ home: home(), tools: "none" }), removed)).out).toBe("");
      expect((await run(cold({ home: home() }), "deno")).out).toBe("deno 99");
    });
  });

  test("one is kept for each workspace, until it is cleared", async () => {
    await run(cold({ home: "kept" }), "echo here > ~/mark");
    expect((await run(cold({ home: "kept", shadowDir: other }), "cat ~/mark")).out).toBe("");
    const runner = await cloned({ home: "kept" });
    expect((await run(runner, "cat ~/mark")).out).toBe("here");
    await run(runner, "mkdir -p ~/go/mod && touch ~/go/mod/x && chmod -R a-w ~/go");

    const list = command([...kCli, "home", "list", "--json"]);
    const listed = JSON.parse(list.stdout) as { workspace: string; directory: string }[];
    expect(listed.map(({ workspace }) => workspace)).toEqual([made.workspace, other]);
    const cleared = command([...kCli, "home", "clear", made.workspace]);
    expect(cleared.stdout).toMatch(/^cleared [0-9a-f]{16}, of .*\n$/);
    expect(existsSync(listed[0]?.directory ?? "")).toBe(false);
    expect((await run(runner, "cat ~/mark; git config user.name")).out).toBe('Ada "L" Lovelace');
    const unknown = command([...kCli, "home", "clear", "/nowhere"]);
    expect(unknown.stderr).toContain("no home is kept for /nowhere");
    expect(unknown.status).toBe(120);
  });

  test("that mixes with the workspace or the user's own is a set-up failure", async () => {
    symlinkSync(made.home, join(made.state, "link-to-the-home"));
    const wrong = [
      made.workspace,
      join(made.state, ".."),
      join(made.state, "link-to-the-home"),
      "/nowhere",
    ];
    for (const directory of wrong) {
      const seen = await run(cold({ home: { directory } }), "true");
      expect(seen.result.outcome.kind, directory).toBe("setup-failed");
    }
    expect((await run(cold({ home: { directory: chosen } }), "echo fine")).out).toBe("fine");
  });

  describe("a transaction's", () => {
    const open = async (options: Options = {}) => {
      const transaction = await cold(options).openTransaction({ directory: made.state });
      onTestFinished(() => transaction.discard());
      return transaction;
    };

    test("is kept between commands, and no part of its changes", async () => {
      const left = "ls ~ | grep -x -e left -e more"; // the tools' directories are there too
      const transaction = await open();
      expect((await run(transaction, "git config user.email; touch ~/left; echo made")).out).toBe(
        "ada@example.test\nmade",
      );
      const session = await transaction.openSession();
      expect((await run(session, `${left}; deno; touch ~/more`)).out).toBe("left\ndeno 99");
      await session.close();
      const member = closing(new BubblewrapNativeRunner(optionsOf({ transaction })));
      expect((await run(member, left)).out).toBe("left\nmore");
      expect(await transaction.changes()).toEqual([]);
      await run(transaction, "touch /workspace/changed");
      expect((await transaction.changes()).map(({ path }) => path)).toEqual(["changed"]);
      expect((await run(await open(), left)).out).toBe("");
    });

    test("hides files of the user's home, which denials tell", async () => {
      const path = join(made.home, "other-project/lib/code");
      for (const runner of [await open(), cold({}), cold({ home: "kept" })]) {
        const { result } = await run(runner, ["cat", path], { explain: true });
        expect(result.denials).toMatchObject([
          { kind: "read", path, grant: { value: { hostPath: path } } },
        ]);
      }
    });

    test("has the caller's mounts, at places below places that are missing", async () => {
      const mounts = [
        { hostPath: other, guestPath: join(made.home, "missing/too/data"), mode: "rw" as const },
        {
          hostPath: join(made.home, "company.pem"),
          guestPath: join(made.home, "more/file"),
          mode: "ro" as const,
        },
      ];
      for (const runner of [await open({ mounts }), cold({ home: "kept", mounts })]) {
        const seen = await run(
          runner,
          "echo x > ~/missing/too/data/made; cmp ~/more/file ~/company.pem && echo same",
        );
        expect(seen).toMatchObject({ out: "same", err: "" });
        expect(readFileSync(join(other, "made"), "utf8")).toBe("x\n");
      }
    });

    test("is there when it is resumed, and gone when it is discarded", async () => {
      const runner = cold({});
      const first = await runner.openTransaction({ directory: made.state });
      await run(first, "mkdir -p ~/go/mod && touch ~/go/mod/x && chmod -R a-w ~/go");
      await first.close();
      const again = await runner.resumeTransaction(first.id, { directory: made.state });
      expect((await run(again, "ls ~/go/mod")).out).toBe("x");
      await again.discard();
      expect(readdirSync(made.state).join(" ")).not.toContain(first.id);
    });

    test("is not where commands could write into what is committed", async () => {
      const transaction = await open({ home: { directory: made.state } });
      const seen = await run(transaction, "true");
      expect(seen.result.outcome).toMatchObject({
        kind: "setup-failed",
        reason: expect.stringContaining("where the transaction is kept"),
      });
    });

    test("is none without a home, and the kept one if that was asked for", async () => {
      const none = await open({ home: "none" }); // only the tools' directories are there
      expect((await run(none, "touch ~/left 2>&- || echo none")).out).toBe("none");
      await run(await open({ home: "kept" }), "echo kept > ~/from-transaction");
      expect((await run(cold({ home: "kept" }), "cat ~/from-transaction")).out).toBe("kept");
    });
  });

  test("the host's identity has not changed", () => {
    expect(readFileSync(join(made.home, ".gitconfig"), "utf8")).toContain("ada@example.test");
  });
});
