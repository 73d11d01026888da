// As root too: its home is another user's to nobody.
/** A program's own write into its home, where the sandbox has none that may be written: what failed, and what helps. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

import { command, kCli, whyNoCli } from "../support/built-cli.js";
import {
  BubblewrapNativeRunner,
  LandlockNativeRunner,
  type NativeExecInput,
  type SandboxedExecResult,
} from "../support/package.js";
import {
  describeUnless,
  testUnless,
  whyNoBindFd,
  whyNoBubblewrap,
} from "../support/requirements.js";
import { run } from "../support/results.js";
import { whyNo } from "../support/runtimes.js";
import { tempDirectory } from "../support/temp.js";
import { stateDirectory } from "../support/transactions.js";

/** On the host its user may write it. */
const hostHome = () => tempDirectory("home", "/var/tmp");

const kScripts: [name: string, script: string][] = [
  ["git config --global", "git config --global user.name x"],
  ["mkdir -p of a cache", "mkdir -p ~/.cache/x"],
  ["a file that the command names", "echo x > ~/.named-file"],
  ["python's makedirs", `python3 -c 'import os; os.makedirs(os.path.expanduser("~/.cache/p"))'`],
];

type Runs = { exec(input: NativeExecInput): Promise<SandboxedExecResult> };
const kWays: [
  name: string,
  whyNot: string | undefined,
  open: (shadowDir: string) => Promise<Runs>,
][] = [
  [
    "Bubblewrap",
    whyNoBubblewrap,
    async (shadowDir) => new BubblewrapNativeRunner({ shadowDir, home: "none", prewarm: 0 }),
  ],
  [
    "a transaction",
    whyNoBindFd,
    async (shadowDir) =>
      new BubblewrapNativeRunner({ shadowDir, home: "none", prewarm: 0 }).openTransaction({
        directory: stateDirectory(),
      }),
  ],
  [
    "Landlock",
    whyNo("landlock"),
    async (shadowDir) => new LandlockNativeRunner({ shadowDir, home: "none" }),
  ],
];

for (const [name, whyNot, open] of kWays) {
  describeUnless(whyNot, `a home that can't be written, ${name}`, () => {
    test.each(kScripts)("is told where %s failed", async (_, script) => {
      const workspace = tempDirectory("work", "/var/tmp");
      const runs = await open(workspace);
      const HOME = hostHome();
      const failed = await run(runs, script, { env: { HOME }, explain: true });
      expect(failed.exitCode).not.toBe(0);
      const writes = failed.result.denials.filter(({ kind }) => kind === "write");
      expect(writes).toHaveLength(1);
      const [{ path = "", notAdvised, by } = {}] = writes;
      expect(`${HOME}/`.startsWith(`${path}/`) || path.startsWith(`${HOME}/`), path).toBe(true);
      expect(notAdvised).toContain("HOME in `env`");
      expect(by).toBe(name === "Landlock" ? "landlock" : "bubblewrap");
      // What it says helps.
      mkdirSync(join(workspace, "home"), { recursive: true });
      const own = `${name === "Landlock" ? workspace : "/workspace"}/home`;
      const mended = await run(runs, `mkdir -p ${own}; ${script}`, {
        env: { HOME: own },
        explain: true,
      });
      expect(mended.result).toMatchObject({ exitCode: 0, denials: [] });
    });

    test("is not told where the program did without", async () => {
      const runs = await open(tempDirectory("work", "/var/tmp"));
      const done = await run(runs, "git config --global user.name x; true", {
        env: { HOME: hostHome() },
        explain: true,
      });
      expect(done).toMatchObject({ exitCode: 0 });
      expect(done.result.denials.filter(({ kind }) => kind === "write")).toEqual([]);
    });
  });
}

describe("native-runner why", () => {
  testUnless(whyNoBubblewrap ?? whyNoCli, "says it of a home that can't be written", () => {
    const HOME = hostHome();
    const why = (home: string) =>
      command(
        [...kCli, "why", "--home", home, "--", "git", "config", "--global", "user.name", "x"],
        {
          HOME,
        },
      );
    const failed = why("none");
    expect(failed.stdout).toContain(`write ${HOME}/.gitconfig.lock`);
    expect(failed.stdout.replace(/[\s│]+/g, " ")).toMatch(/HOME in/);
    expect(failed.stdout).not.toContain("nothing was denied");
    expect(failed.status).not.toBe(0);
    expect(why("private")).toMatchObject({ status: 0, stdout: "nothing was denied\n" });
  });
});
