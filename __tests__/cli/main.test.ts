/** The command as a process, compiled into a folder without an addon: whatever needs no sandbox. */

import { spawn } from "node:child_process";
import { cp, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, it } from "vitest";

import { kRoot, tsc } from "../support/run-tsc.js";

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "native-runner-cli-"));
  await cp(join(kRoot, "package.json"), join(folder, "package.json"));
  await symlink(join(kRoot, "node_modules"), join(folder, "node_modules"));
  expect(await tsc("-p", "tsconfig.build.json", "--outDir", join(folder, "dist"))).toBe("");
}, 60_000);

afterAll(() => rm(folder, { recursive: true, force: true }));

async function cli(...args: string[]) {
  const { OPENAGENTIC_NATIVE_RUNNER_PRESET: _, ...env } = process.env;
  const child = spawn(process.execPath, [join(folder, "dist/cli/main.js"), ...args], { env });
  child.stdin.end();
  const closed = new Promise<number | null>((resolve) => child.on("close", resolve));
  const [stdout, stderr, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    closed,
  ]);
  return { stdout, stderr, code };
}

it("prints its version", async () => {
  expect(await cli("--version")).toEqual({
    stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    stderr: "",
    code: 0,
  });
});

it.each([
  [["--help"]],
  [["run", "--help"]],
  [["explain", "--help"]],
  [["doctor", "--help"]],
  [["help", "run"]],
])("helps on %j", async (args) => {
  const { stdout, stderr, code } = await cli(...args);
  expect(stdout).toMatch(/^Usage: native-runner /);
  expect({ stderr, code }).toEqual({ stderr: "", code: 0 });
});

it.each([
  [[]],
  [["run"]],
  [["bogus"]],
  [["run", "--timeout", "soon", "--", "ls"]],
  [["explain", "--network", "some", "--", "ls"]],
])("exits with 2 and writes to standard error only on %j", async (args) => {
  const { stdout, stderr, code } = await cli(...args);
  expect({ stdout, code }).toEqual({ stdout: "", code: 2 });
  expect(stderr).not.toBe("");
});

it.each(["run", "explain"])(
  "%s exits with 125 and says what to do without an addon",
  async (name) => {
    const { stdout, stderr, code } = await cli(name, "--", "ls");
    expect({ stdout, code }).toEqual({ stdout: "", code: 125 });
    expect(stderr).toMatch(/^native-runner: .+\nfix: .+\n$/);
  },
);
