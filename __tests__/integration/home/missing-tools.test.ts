/** A program that is not found because its tool is not shown is a denial, whose grant shows it. */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { command, kCli } from "../support/built-cli.js";
import {
  BubblewrapNativeRunner,
  type BubblewrapNativeRunnerOptions,
  type NativeMount,
} from "../support/package.js";
import { describeSandboxed } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";
import { live, madeHome } from "./made-home.js";

type Options = Partial<BubblewrapNativeRunnerOptions>;

let made: ReturnType<typeof madeHome>;

function runnerOf(options: Options): BubblewrapNativeRunner {
  const runner = new BubblewrapNativeRunner({ shadowDir: made.workspace, ...options });
  onTestFinished(() => runner.close());
  return runner;
}

async function denialsOf(options: Options, argv: string[]) {
  const { denials, exitCode, stdoutText } = await runnerOf(options).exec({ argv, explain: true });
  return { denials, exitCode, stdoutText };
}

/** What is not shown, and what the grant then shows, below the home. */
const kHidden: [name: string, options: () => Options, granted: string][] = [
  ["without tools", () => ({ tools: "none" }), ".deno/bin/deno"],
  ["excluded", () => ({ tools: { exclude: [join(made.home, ".deno")] } }), ".deno/bin"],
];

const kWays: [name: string, argv: string[]][] = [
  ["as the command", ["deno"]],
  ["by sh", ["sh", "-c", "true && deno"]],
  ["by bash", ["bash", "-c", "deno --version"]],
  ["by env", ["env", "deno"]],
  ["by Python", ["python3", "-c", "import subprocess as s; s.run(['deno'], check=True)"]],
];

describeSandboxed("a program whose tool is not shown", () => {
  beforeAll(() => {
    made = madeHome();
  });
  afterAll(() => made.remove());
  beforeEach(() => live(made));

  test.each(
    kHidden.flatMap(([hidden, options, granted]) =>
      kWays.map(([way, argv]) => [hidden, way, options, granted, argv] as const),
    ),
  )("%s, looked for %s", async (_hidden, _way, options, granted, argv) => {
    const { denials, exitCode } = await denialsOf(options(), [...argv]);
    expect(exitCode).not.toBe(0);
    const program = join(made.home, ".deno/bin/deno");
    const path = join(made.home, granted);
    expect(denials).toEqual([
      expect.objectContaining({
        kind: "exec",
        path: program,
        hostPath: program,
        errno: "ENOENT",
        by: "bubblewrap",
        grant: {
          option: "mounts",
          value: { hostPath: path, guestPath: path, mode: "ro" },
          cli: `--mount ${path}:ro`,
        },
      }),
    ]);
    const mounts = denials.map(({ grant }) => grant?.value as NativeMount);
    const after = await denialsOf({ ...options(), mounts }, [...argv]);
    expect(after).toEqual({ denials: [], exitCode: 0, stdoutText: "deno 99\n" });
  });

  test("one that is shown, one that is nowhere, and one that is found elsewhere are none", async () => {
    const exclude = [join(made.home, ".deno"), join(made.home, ".nvm")];
    expect((await denialsOf({}, ["sh", "-c", "deno; nowhere"])).denials).toEqual([]);
    expect((await denialsOf({ tools: { exclude } }, ["nowhere"])).denials).toEqual([]);
    // The system's node is found in place of nvm's.
    const elsewhere = await denialsOf({ tools: { exclude } }, ["sh", "-c", "type node; nowhere"]);
    expect(elsewhere.stdoutText).toContain("node is /");
    expect(elsewhere.denials).toEqual([]);
  });

  test("a directory that others can write to is none to be granted", async () => {
    const { denials } = await denialsOf({}, ["sh", "-c", "evil"]);
    expect(denials).toEqual([
      expect.objectContaining({
        path: join(made.home, "theirs/bin/evil"),
        notAdvised: `others can write to ${join(made.home, "theirs/bin")}`,
      }),
    ]);
    expect(denials[0]).not.toHaveProperty("grant");
  });

  const script = ["sh", "-c", "command -v deno > /dev/null && deno"];

  test("why names the grant also where a shell only looks, and runs the program with it", () => {
    const options = ["-w", made.workspace, "--tools", "none"];
    const words = [...kCli, "why", ...options, "--apply", "--yes", "--", ...script];
    const { stdout, stderr, status } = command(words);
    expect(stdout, stderr).toContain(`--mount ${join(made.home, ".deno/bin/deno")}:ro`);
    expect(stderr).toContain("deno 99");
    expect(status).toBe(0);
  });

  test("learn grants it", () => {
    const place = tempDirectory("policy", "/var/tmp");
    const [start, policy] = [join(place, "start.json"), join(place, "policy.json")];
    writeFileSync(start, JSON.stringify({ bubblewrap: { tools: "none" } }));
    const job = ["-w", made.workspace, "--"];
    const into = ["--into", policy, "--state-directory", join(place, "state")];
    const learned = command([...kCli, "learn", "--config", start, ...into, ...job, ...script]);
    expect(learned.status, learned.stderr).toBe(0);
    expect(readFileSync(policy, "utf8")).toContain(join(made.home, ".deno/bin/deno"));
    const run = (config: string) =>
      command([...kCli, "run", "--config", config, ...job, ...script]);
    expect(run(start)).toMatchObject({ stdout: "", status: 127 });
    expect(run(policy)).toMatchObject({ stdout: "deno 99\n", status: 0 });
  });
});
