/** What works at the terminal works in a sandbox, while no secret of the home can be read and nothing of it changes. */

import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { cloning } from "../clones/cloning-runners.js";
import {
  BubblewrapNativeRunner,
  type BubblewrapNativeRunnerOptions,
  type NativeExecInput,
  type SandboxedExecResult,
} from "../support/package.js";
import { describeSandboxed } from "../support/requirements.js";
import { run } from "../support/results.js";
import { kJobs, kMark, live, type MadeHome, madeHome, snapshot } from "./made-home.js";

type Runs = { exec(input: NativeExecInput): Promise<SandboxedExecResult> };
type Options = Partial<BubblewrapNativeRunnerOptions>;

let made: ReturnType<typeof madeHome>;

function runnerOf(options: Options = {}): BubblewrapNativeRunner {
  const runner = new BubblewrapNativeRunner({ shadowDir: made.workspace, ...options });
  onTestFinished(() => runner.close());
  return runner;
}

/** Each way of running a command; all but the first take their sandboxes from the same plan. */
const kKinds: [kind: string, open: () => Promise<Runs>][] = [
  ["cold", async () => runnerOf({ clone: "never", prewarm: 0 })],
  [
    "cloned",
    async () => {
      const runner = await cloning({ shadowDir: made.workspace });
      onTestFinished(() => runner.close());
      return runner;
    },
  ],
  [
    "prewarmed",
    async () => {
      const runner = runnerOf({ clone: "never", prewarm: 1 });
      await runner.warm();
      return runner;
    },
  ],
  ["session", async () => runnerOf().openSession()],
  [
    "transaction",
    async () => {
      const transaction = await runnerOf().openTransaction({ directory: made.state });
      onTestFinished(() => transaction.discard());
      return transaction;
    },
  ],
  ["Landlock besides", async () => runnerOf({ layers: ["landlock"] })],
];

/** Runs a script on the host, as the developer does. */
function outside({ env, workspace }: MadeHome, script: string): string {
  const { stdout, stderr } = spawnSync("sh", ["-c", script], {
    env,
    cwd: workspace,
    encoding: "utf8",
  });
  return (stdout + stderr).trim();
}

describeSandboxed("a home with tools and secrets", () => {
  beforeAll(() => {
    made = madeHome();
  });
  afterAll(() => made.remove());
  beforeEach(() => live(made));

  test.each(kJobs)("on the host: %s", (_name, script, out) => {
    expect(outside(made, script)).toBe(out.replaceAll("HOME", made.home));
  });

  test("the secrets are there on the host", () => {
    expect(Number(outside(made, `grep -rl ${kMark} ~ | wc -l`))).toBeGreaterThan(30);
  });

  describe.each(kKinds)("%s", (_kind, open) => {
    test("every job works as on the host, and nothing of the home is changed", async () => {
      const before = snapshot(made.home);
      const runner = await open();
      const wrong: string[] = [];
      for (const [name, script, out] of kJobs) {
        const seen = await run(runner, script);
        const wanted = out.replaceAll("HOME", made.home);
        if (seen.out !== wanted) wrong.push(`${name}: ${seen.out} ${seen.err}`);
      }
      expect(wrong).toEqual([]);
      expect(snapshot(made.home)).toEqual(before);
    });

    test("a command starts in the workspace", async () => {
      expect((await run(await open(), "pwd")).out).toBe("/workspace");
    });

    test("no secret can be read", async () => {
      const runner = await open();
      const look = `grep -rl ${kMark} "$HOME" /workspace /tmp /dev/shm 2>/dev/null; env | grep ${kMark}; cat /proc/*/environ | grep -c ${kMark}`;
      expect((await run(runner, look)).out).toBe("0");
    });

    test("the home can be written, and nothing shown in it", async () => {
      const before = snapshot(made.home);
      const runner = await open();
      const seen = await run(
        runner,
        'mkdir -p ~/.cache/x && echo hi > ~/.cache/x/y && cat ~/.cache/x/y && git config --global user.name New && git config user.name && stat -c %a ~; for d in ~/.nvm/versions ~/.cargo/bin ~/.pyenv ~/.local/bin; do touch "$d/z" 2>/dev/null && echo "$d"; done; true',
      );
      expect(seen).toMatchObject({ out: "hi\nNew\n700", err: "" });
      expect(snapshot(made.home)).toEqual(before);
    });
  });

  test.each(kKinds.slice(0, 3))("%s: a home is new for each run", async (_kind, open) => {
    const runner = await open();
    for (let at = 0; at < 3; at += 1) {
      const seen = await run(
        runner,
        "ls ~/left; touch ~/left; git config --global user.name X; echo end",
      );
      expect(seen.out).toBe("end");
      expect((await run(runner, "git config user.email")).out).toBe("ada@example.test");
    }
  });

  test("a session's home lives as long as the session", async () => {
    const session = await runnerOf().openSession();
    await run(session, "echo kept > ~/left");
    expect((await run(session, "cat ~/left")).out).toBe("kept");
  });

  test("nothing that runs a program, includes or authenticates is in ~/.gitconfig", async () => {
    const seen = await run(runnerOf(), "cat ~/.gitconfig");
    expect(seen.out).toContain("histogram");
    expect(seen.out).not.toMatch(/evil|hooks|template|store|include|signing|insteadOf|touch/i);
  });

  test("what others can write to is not shown, and PATH names only what is there", async () => {
    const runner = runnerOf();
    expect(outside(made, "evil")).toBe("written by others");
    const seen = await run(
      runner,
      'command -v evil; ls ~/theirs; IFS=:; for d in $PATH; do [ -d "$d" ] || echo "no $d"; done',
    );
    expect(seen.out).toBe("");
    expect((await run(runner, "echo $PATH")).out).toMatch(/^\/workspace\/node_modules\/\.bin:/);
  });

  test("variables that name what is not there do not pass, unless the call names them", async () => {
    const runner = runnerOf();
    const script = 'echo "$TMPDIR|$SSL_CERT_FILE|$XDG_RUNTIME_DIR|$XDG_CONFIG_HOME"';
    expect((await run(runner, script)).out).toBe(`|||${made.home}/.config`);
    const env = { TMPDIR: "/tmp/mine", HOME: "/tmp" };
    expect((await run(runner, 'echo "$TMPDIR $HOME"', { env })).out).toBe("/tmp/mine /tmp");
  });

  test("a tool that is installed later is found, and one that is removed is gone", async () => {
    const runner = runnerOf();
    expect((await run(runner, "later")).exitCode).toBe(127);
    const path = join(made.home, "later/bin");
    mkdirSync(path, { recursive: true });
    writeFileSync(join(path, "later"), "#!/bin/sh\necho later\n", { mode: 0o755 });
    process.env.PATH = `${path}:${process.env.PATH}`;
    expect((await run(runner, "later")).out).toBe("later");
    symlinkSync(join(made.home, "src/tool/run.sh"), join(made.home, ".local/bin/again"));
    onTestFinished(() => {
      spawnSync("rm", ["-rf", join(made.home, "later"), join(made.home, ".local/bin/again")]);
    });
    expect((await run(runner, "again")).out).toBe("a tool from its source");
    spawnSync("rm", ["-rf", join(made.home, "later")]);
    expect((await run(runner, "later")).exitCode).toBe(127);
  });

  test("a rustup that is installed elsewhere finds its toolchains, also those installed later", async () => {
    const system = join(made.home, "../distribution");
    const rustup = join(made.home, "../rustup");
    mkdirSync(system);
    copyFileSync(join(made.home, ".cargo/bin/rustup"), join(system, "rustup"));
    symlinkSync("rustup", join(system, "rustc"));
    process.env.PATH = `${system}:/usr/bin:/bin`;
    onTestFinished(() => {
      delete process.env.RUSTUP_HOME;
    });
    expect((await run(runnerOf(), "rustc")).out).toBe("rustc 99.0");
    process.env.RUSTUP_HOME = rustup;
    const runner = runnerOf();
    await run(runner, "true");
    spawnSync("cp", ["-r", join(made.home, ".rustup"), rustup]);
    expect((await run(runner, "rustc")).out).toBe("rustc 99.0");
  });

  test("without tools there are none, and without a home HOME is not there", async () => {
    const bare = runnerOf({ tools: "none", home: "none" });
    const seen = await run(bare, 'command -v deno; [ -e "$HOME" ] || echo "no home"');
    expect(seen.out).toBe("no home");
    expect(
      (
        await run(
          runnerOf({ roBinds: ["/usr", "/bin", "/lib", "/lib64", "/etc"] }),
          "command -v deno",
        )
      ).exitCode,
    ).toBe(127);
  });

  test("further paths are shown, and others excluded", async () => {
    const paths = [join(made.home, "src/tool")];
    const runner = runnerOf({ tools: { paths, exclude: [join(made.home, ".deno")] } });
    const seen = await run(runner, "~/src/tool/run.sh; command -v deno; bun");
    expect(seen.out).toBe("a tool from its source\nbun 99");
  });

  test("mounts of the caller's below the home show", async () => {
    const mounts = [
      { hostPath: made.workspace, guestPath: join(made.home, "project"), mode: "rw" as const },
    ];
    for (const options of [{ clone: "never", prewarm: 0 }, {}] as const) {
      const runner = options.clone
        ? runnerOf({ mounts, ...options })
        : await cloning({ shadowDir: made.workspace, mounts });
      expect((await run(runner, "ls ~/project; deno; touch ~/other && echo written")).out).toBe(
        "node_modules\ndeno 99\nwritten",
      );
      await runner.close();
    }
    expect(readdirSync(made.home)).not.toContain("project");
  });

  test("a home that was asked for where the caller's mount is can't be had", async () => {
    const mounts = [{ hostPath: made.home, mode: "ro" as const }];
    const seen = await run(runnerOf({ home: "private", mounts }), "true");
    expect(seen.result.outcome).toMatchObject({
      kind: "setup-failed",
      reason: /the home can't be at/,
    });
    expect((await run(runnerOf({ mounts }), 'cat "$HOME/a-file"')).out).toBe("no directory");
  });

  test("explain and the policy's hash have what is shown", async () => {
    const plan = await runnerOf().explain({ argv: ["true"] });
    expect(plan.args.join(" ")).toContain(
      `--ro-bind ${made.home}/.deno/bin ${made.home}/.deno/bin`,
    );
    const other = await runnerOf({ tools: "none" }).explain({ argv: ["true"] });
    expect(other.policyHash).not.toBe(plan.policyHash);
    const { result } = await run(runnerOf(), "true");
    expect(result.audits[0]?.policyHash).toBe(plan.policyHash);
  });

  test("a directory of PATH that is a link to what is bound needs no mounts of its own", async () => {
    const system = join(made.home, "../system");
    symlinkSync("/usr/sbin", system);
    process.env.PATH = `${made.env.PATH}:${system}:${join(made.home, ".local/bin")}`;
    const plan = await runnerOf().explain({ argv: ["true"] });
    expect(plan.args.filter((each) => each.startsWith(system))).toEqual([]);
    expect(plan.args).toContain(join(made.home, ".local/bin")); // which is one
    const { out } = await run(runnerOf(), 'echo "$PATH"');
    expect(out.split(":")).toContain("/usr/sbin");
    expect(out.split(":")).not.toContain(system);
  });

  test("a live process has home and tools too", async () => {
    const live = await runnerOf().spawn({
      argv: ["sh", "-c", "deno; cat ~/.gitconfig | head -n 2"],
    });
    let out = "";
    for await (const chunk of live.stdout) out += Buffer.from(chunk).toString();
    expect(out).toContain("deno 99\n[user]");
    await live.result;
  });

  test("the host's home has no place that a sandbox needed", () => {
    expect(existsSync(join(made.home, "left"))).toBe(false);
  });
});
