// As root too: root is told other remedies.
/** What the command line says when something is wrong, in its own words. They need a built dist/. */

import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

import { kHungMs } from "../../support/waits.js";
import { kNodeInside } from "../support/node-arguments.js";
import {
  describeSandboxed,
  isRoot,
  plainEnvironment,
  testUnless,
} from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";

const kMain = fileURLToPath(new URL("../../../dist/cli/main.js", import.meta.url));
const kWorkspace = tempDirectory();
mkdirSync(join(kWorkspace, "inside"));

/** Names that only code has. */
const kApiWords =
  /shadowDir|roBinds|bwrapPath|fsReadDirs|fsWriteDirs|envPolicy|NativeRunner|runtimeType|mounts\[|\blimits\.|calling exec|\bexec\b/;

function run(options: readonly string[], command: readonly string[] = ["true"], name = "run") {
  const [program = "", ...words] = kNodeInside;
  const { status, stdout, stderr } = spawnSync(
    program,
    [...words, kMain, name, "--no-stdin", ...options, "--", ...command],
    { cwd: kWorkspace, encoding: "utf8", env: plainEnvironment(), timeout: kHungMs },
  );
  return { status, stdout, stderr };
}

function stub(script: string): string {
  const path = join(tempDirectory(), "bwrap");
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  return path;
}

describeSandboxed("messages of the command line", () => {
  test.each<[string, readonly string[], number, RegExp]>([
    ["a directory that is not there", ["--cwd", "nope"], 125, /cannot enter .*nope/],
    ["a directory outside", ["--cwd", "../x"], 2, /--cwd must stay inside/],
    ["a workspace that is not there", ["-w", "/nonexistent"], 125, /--workspace \/nonexistent/],
    ["a mount that is not there", ["--ro-bind", "/nonexistent"], 125, /--ro-bind names/],
    ["a mount of what is not there", ["--mount", "/nonexistent"], 125, /--mount names/],
    ["a mount of a device", ["--mount", "/dev/null:/x"], 125, /is a device\nfix: .*--device/],
    [
      "a missing device",
      ["--device", "/dev/none"],
      125,
      /--device names .*\nfix: create it, or leave/,
    ],
    ["a device that is none", ["--device", "cuda"], 2, /Expected --device to be .* got "cuda"/],
    ["a device elsewhere", ["--device", "/etc/passwd"], 2, /Expected --device to be a path below/],
    ["a mount on the workspace", ["--mount", "/usr:/workspace"], 2, /guest path of --mount/],
    ["a mount with no runtime", ["--mount", "/usr", "--runtime", "auto"], 2, /--mount means/],
    ["a program that is not there", ["--bwrap", "/nonexistent"], 125, /with --bwrap\n$/],
    ["a relative program", ["--bwrap", "./bwrap"], 2, /Expected --bwrap/],
    ["a broken program", ["--bwrap", stub("exit 3")], 125, /status 3\n/],
    ["a program without options", ["--bwrap", "/bin/true"], 125, /lacks --as-pid-1\n/],
  ])("name no word of the API: %s", (_, options, status, expected) => {
    for (const name of ["run", "explain"]) {
      if (name === "explain" && options[1] === "nope") continue; // it does not look into the workspace
      const said = run(options, ["true"], name);
      expect({ status: said.status, stdout: said.stdout }).toEqual({ status, stdout: "" });
      expect(said.stderr).toMatch(expected);
      expect(said.stderr).not.toMatch(kApiWords);
    }
  });

  test("suggest no weaker isolation for a path, and say the error once", () => {
    const { stderr } = run(["--cwd", "nope"]);
    expect(stderr).toMatch(/^native-runner: cannot enter \/workspace\/nope: [^:\n]+\nfix: --cwd /);
    expect(stderr.match(/No such file or directory/g)).toHaveLength(1);
    expect(stderr).not.toMatch(/isolation|compat/);
    expect(run(["--cwd", "inside"]).status).toBe(0);
  });

  const whyKept = isRoot ? undefined : "RLIMIT_NPROC keeps it for an ordinary user (setrlimit(2))";
  testUnless(whyKept, "of a limit that can't be kept name its option", () => {
    const { status, stderr } = run(["--max-processes", "4"]);
    if (status === 0) return; // there is a delegated cgroup
    expect(stderr).toMatch(/^native-runner: --max-processes can't be enforced here/);
    expect(stderr).not.toMatch(kApiWords);
  });

  test("quote a bwrap that does not answer --help", () => {
    const { stderr } = run([
      "--bwrap",
      stub("echo 'cannot open shared object: libx.so' >&2; exit 127"),
    ]);
    expect(stderr).toContain(
      'does not answer --help: it ended with status 127, saying "cannot open shared object: libx.so"',
    );
  });

  test("tell what --memory 1 did", () => {
    const { status, stderr } = run(["--memory", "1"]);
    expect(status).toBeGreaterThan(128);
    expect(stderr).toMatch(/^native-runner: ended by .*--memory/);
    expect(run(["--memory", "512M"])).toEqual({ status: 0, stdout: "", stderr: "" });
  });

  test("refuse a workspace that nobody meant", () => {
    for (const workspace of ["", "/", "/proc/self/root"]) {
      const { status, stdout, stderr } = run(["-w", workspace], ["pwd"]);
      expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
      expect(stderr).toMatch(/--workspace/);
    }
    const consent = run(["-w", "/", "--workspace-is-root"], ["test", "-d", "/workspace/usr"]);
    expect(consent).toEqual({ status: 0, stdout: "", stderr: "" });
  });

  test("refuse a misspelled --env-policy", () => {
    const { status, stderr } = run(["--env-policy", "scrubb"]);
    expect(status).toBe(2);
    expect(stderr).toContain("did you mean scrub?");
    expect(run(["--env-policy", "PATH"]).status).toBe(0);
  });
});

test("an error that nobody catches prints nothing that is not there", () => {
  const url = new URL("../../../dist/index.js", import.meta.url).href;
  const script = `import { SandboxError } from ${JSON.stringify(url)};
    throw new SandboxError("no", { code: "ERR_SANDBOX_SETUP" });`;
  const [program = "", ...words] = kNodeInside;
  const args = [...words, "--input-type=module", "-e", script];
  const { stderr } = spawnSync(program, args, { encoding: "utf8", env: plainEnvironment() });
  expect(stderr).toContain("code: 'ERR_SANDBOX_SETUP'");
  expect(stderr).not.toContain("undefined");
});
