/** The command in its real sandbox: dist/cli/main.js, as `npm run build` leaves it. */

import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer, text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { kNodeProgram } from "../support/node-arguments.js";

const kMain = join(import.meta.dirname, "../../../dist/cli/main.js");
let workspace: string;

beforeAll(async () => {
  workspace = await mkdtemp(join(tmpdir(), "native-runner-cli-"));
});
afterAll(() => rm(workspace, { recursive: true, force: true }));

function start(args: string[], env: NodeJS.ProcessEnv = process.env) {
  const child = spawn(kNodeProgram, [kMain, ...args], { cwd: workspace, env });
  const code = new Promise<number | null>((resolve) => child.on("close", resolve));
  return { child, code };
}

async function cli(args: string[], input: Uint8Array | string = "", env = process.env) {
  const { child, code } = start(args, env);
  child.stdin.on("error", () => {}).end(input);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { stdout, stderr, code: await code };
}

const run = (script: string, ...options: string[]) =>
  cli(["run", ...options, "--", "sh", "-c", script]);

describe("run", () => {
  it("streams both outputs through and exits as the command does", async () => {
    expect(await run("echo out; echo err >&2; exit 7")).toEqual({
      stdout: "out\n",
      stderr: "err\n",
      code: 7,
    });
  });

  it("streams while the command still runs", async () => {
    const { child, code } = start(["run", "--no-stdin", "--", "sh", "-c", "echo up; sleep 20"]);
    await new Promise((resolve) => child.stdout.once("data", resolve));
    child.kill("SIGTERM");
    expect(await code).toBe(130);
  });

  it("passes standard input whole", async () => {
    const input = new Uint8Array(3_000_000).fill(65);
    expect((await cli(["run", "--", "wc", "-c"], input)).stdout.trim()).toBe("3000000");
  });

  it("writes large outputs to the last byte", async () => {
    const args = ["run", "--max-output", "64M", "--", "head", "-c", "50000000", "/dev/zero"];
    const { child, code } = start(args);
    child.stdin.end();
    expect((await buffer(child.stdout)).length).toBe(50_000_000);
    expect(await code).toBe(0);
  });

  it("ends quietly when its reader goes away", async () => {
    const { child, code } = start(["run", "--max-output", "1G", "--", "yes"]);
    child.stdin.end();
    const stderr = text(child.stderr);
    await new Promise((resolve) => child.stdout.once("data", resolve));
    child.stdout.destroy();
    await code;
    expect(await stderr).toBe("");
  });

  it.each([
    ["sleep 20", ["--timeout", "300ms"], 124, /^native-runner: timed out after 300ms/m],
    ["while :; do :; done", ["--cpu", "1"], 152, /^native-runner: ended by its limit --cpu/m],
    ["head -c 9999 /dev/zero", ["--max-output", "1K"], 0, /stdout truncated: 1 KiB of 9.8 KiB/],
    ["true", ["--ro-bind", "/nonexistent"], 125, /"\/nonexistent".*\nfix: /],
    ["true", ["--cwd", "../x"], 2, /^native-runner: .*cwd/m],
    ["true", ["--bwrap", "/nonexistent"], 125, /^native-runner: program not found.*\nfix: /],
  ])("says why %j with %j did not end by itself", async (script, options, code, expected) => {
    const result = await run(script, ...options);
    expect(result.stderr).toMatch(expected);
    expect(result.code).toBe(code);
  });

  it("tells not found and not executable apart", async () => {
    expect((await cli(["run", "--", "nosuch"])).code).toBe(127);
    expect((await cli(["run", "--", "/etc/passwd"])).code).toBe(126);
  });

  it("prints the whole result with --json, and nothing else", async () => {
    const { stdout, code } = await run("echo out; echo err >&2; exit 3", "--json");
    expect(code).toBe(3);
    expect(JSON.parse(stdout)).toMatchObject({
      exitCode: 3,
      outcome: { kind: "exited" },
      stdout: "out\n",
      stderr: "err\n",
      audits: [{ runtime: "bubblewrap" }],
    });
  });

  it("holds secrets back and passes what is named", async () => {
    const env = { ...process.env, MY_TOKEN: "hidden", PLAIN: "seen" };
    const script = 'echo "[$MY_TOKEN] [$PLAIN]"';
    expect((await cli(["run", "--", "sh", "-c", script], "", env)).stdout).toBe("[] [seen]\n");
    const named = await cli(["run", "-e", "MY_TOKEN", "--", "sh", "-c", script], "", env);
    expect(named.stdout).toBe("[hidden] [seen]\n");
  });
});

describe("explain", () => {
  it("names everything, shows no value and runs nothing", async () => {
    const env = { ...process.env, MY_TOKEN: "hidden", PLAIN: "unshown" };
    const args = ["explain", "-e", "X=secret", "--", "touch", "it ran"];
    const { stdout, code } = await cli(args, "", env);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^bwrap \\\n {2}--/);
    expect(stdout).toContain("-- touch 'it ran'\n");
    expect(stdout).toMatch(/held back .*MY_TOKEN/);
    expect(stdout).not.toMatch(/hidden|unshown|secret(?!s)/);
    expect((await cli(["run", "--", "ls", "it ran"])).code).not.toBe(0);
  });

  it("prints a command line that a shell runs", async () => {
    const explained = await cli(["explain", "--isolation", "compat", "--", "echo", "it's run"]);
    const [line] = explained.stdout.split("\n\n");
    const shell = spawn("sh", ["-c", line ?? ""], { cwd: workspace });
    expect(await text(shell.stdout)).toBe("it's run\n");
  });
});
