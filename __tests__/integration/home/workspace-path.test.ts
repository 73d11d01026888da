/** A workspace that commands see at its own path: what names that path works inside and outside. */

import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";

import { cloning } from "../clones/cloning-runners.js";
import {
  BubblewrapNativeRunner,
  type BubblewrapNativeRunnerOptions,
  type NativeExecInput,
  type SandboxedExecResult,
} from "../support/package.js";
import { describeSandboxed, testUnless } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";

type Runs = { exec(input: NativeExecInput): Promise<SandboxedExecResult> };
type Options = Partial<BubblewrapNativeRunnerOptions>;

/** Where a workspace may be: what the sandbox has there besides differs. */
const kPlaces = {
  "below /tmp": () => tempDirectory("same"),
  "below no mount of the sandbox": () => {
    const directory = mkdtempSync("/var/tmp/native-runner-same-");
    onTestFinished(() => rmSync(directory, { recursive: true }));
    return directory;
  },
  "in the home": () => {
    const home = mkdtempSync("/var/tmp/native-runner-home-");
    onTestFinished(() => rmSync(home, { recursive: true }));
    writeFileSync(join(home, "secret"), "in the home\n");
    vi.stubEnv("HOME", home);
    onTestFinished(() => void vi.unstubAllEnvs());
    const workspace = join(home, "src", "project");
    mkdirSync(workspace, { recursive: true });
    return workspace;
  },
};
type Place = keyof typeof kPlaces;
const places = Object.keys(kPlaces) as Place[];

function runnerOf(shadowDir: string, options: Options = {}): BubblewrapNativeRunner {
  const runner = new BubblewrapNativeRunner({ shadowDir, workspacePath: "same", ...options });
  onTestFinished(() => runner.close());
  return runner;
}

const kKinds: [kind: string, open: (workspace: string) => Promise<Runs>][] = [
  ["cold", async (at) => runnerOf(at, { clone: "never", prewarm: 0 })],
  [
    "prewarmed",
    async (at) => {
      const runner = runnerOf(at, { clone: "never", prewarm: 1 });
      await runner.warm();
      return runner;
    },
  ],
  ["session", async (at) => runnerOf(at).openSession()],
  [
    "transaction",
    async (at) => {
      const directory = tempDirectory("state");
      const transaction = await runnerOf(at).openTransaction({ directory });
      onTestFinished(() => transaction.discard());
      return transaction;
    },
  ],
  ["Landlock besides", async (at) => runnerOf(at, { layers: ["landlock"] })],
  ["compat", async (at) => runnerOf(at, { isolation: "compat" })],
];

const sh = async (runs: Runs, line: string, more: Partial<NativeExecInput> = {}) => {
  const result = await runs.exec({ argv: ["sh", "-c", line], ...more });
  return `${result.stdoutText}${result.stderrText}`;
};

describeSandboxed("a workspace at its own path", () => {
  describe.each(places)("%s", (place) => {
    test.each(kKinds)("%s: is there, can be written, and nothing beside it is", async (_, open) => {
      const workspace = kPlaces[place]();
      mkdirSync(join(workspace, "sub"));
      writeFileSync(join(workspace, "file"), "text\n");
      writeFileSync(join(workspace, "..", `beside-${process.pid}`), "beside\n");
      onTestFinished(() => rmSync(join(workspace, "..", `beside-${process.pid}`), { force: true }));
      const runs = await open(workspace);
      const line = `pwd; echo "$PWD"; cat file; echo new > made; cat ${workspace}/made; ls ..; test -e /workspace || echo none`;
      expect(await sh(runs, line)).toBe(
        `${workspace}\n${workspace}\ntext\nnew\n${workspace.split("/").at(-1)}\nnone\n`,
      );
      expect(await sh(runs, "pwd", { cwd: "sub" })).toBe(`${workspace}/sub\n`);
      expect(await sh(runs, "pwd", { cwd: `${workspace}/sub/` })).toBe(`${workspace}/sub\n`);
      expect(await sh(runs, "pwd", { cwd: workspace })).toBe(`${workspace}\n`);
      await expect(sh(runs, "pwd", { cwd: `${workspace}/../..` })).rejects.toThrow(/workspace/);
      expect(await sh(runs, `echo kept > ~/own && cat ~/own`)).toBe("kept\n");
    });
  });

  test("is cloned in the home", async () => {
    const workspace = kPlaces["in the home"]();
    const runner = await cloning({ shadowDir: workspace, workspacePath: "same" });
    onTestFinished(() => runner.close());
    const result = await runner.exec({ argv: ["sh", "-c", "pwd; cat ~/secret; echo x > made"] });
    expect(result.audits?.[0]?.start).toBe("cloned");
    expect(result.stdoutText).toBe(`${workspace}\n`);
    expect(result.stderrText).toContain("No such file");
    expect(readdirSync(workspace)).toEqual(["made"]);
  });

  test("may be the home itself: commands then have another", async () => {
    const workspace = kPlaces["in the home"]();
    vi.stubEnv("HOME", workspace);
    writeFileSync(join(workspace, "file"), "text\n");
    const line = 'pwd; cat file; echo x > ~/own && echo "$HOME"';
    const text = await sh(runnerOf(workspace), line);
    const [pwd, content, home] = text.split("\n");
    expect([pwd, content]).toEqual([workspace, "text"]);
    expect(home).toMatch(/^\/./);
    expect(home).not.toBe(workspace);
    expect(readdirSync(workspace)).toEqual(["file"]);
  });

  test.each(["kept", "directory"])("is in a home that is %s", async (kind) => {
    const workspace = kPlaces["in the home"]();
    vi.stubEnv("XDG_STATE_HOME", tempDirectory("kept-homes"));
    const directory = tempDirectory("home");
    const home = kind === "kept" ? "kept" : { directory };
    const runner = runnerOf(workspace, { home });
    expect(await sh(runner, "pwd; echo mine > ~/own; echo x > made")).toBe(`${workspace}\n`);
    expect(await sh(runner, "cat ~/own made")).toBe("mine\nx\n");
    expect(readdirSync(workspace)).toEqual(["made"]);
  });

  test("can be read-only, and has mounts of its own below it", async () => {
    const workspace = kPlaces["below no mount of the sandbox"]();
    mkdirSync(join(workspace, "data"));
    const data = tempDirectory("data");
    writeFileSync(join(data, "file"), "data\n");
    const guestPath = join(workspace, "data");
    const runner = runnerOf(workspace, {
      allowWriteWorkspace: false,
      mounts: [{ hostPath: data, guestPath, mode: "rw" }],
    });
    const text = await sh(runner, "echo x > made; cat data/file; echo y > data/made");
    expect(text).toMatch(/^data\n.*Read-only file system/s);
    expect(readdirSync(data).sort()).toEqual(["file", "made"]);
    expect(readdirSync(workspace)).toEqual(["data"]);
    const above = { hostPath: data, guestPath: "/var/tmp", mode: "rw" } as const;
    expect(() => runnerOf(workspace, { mounts: [above] })).toThrow(`does not hide ${workspace}`);
  });

  test.each([
    ["/proc", "neither in nor above /proc"],
    ["/", "neither in nor above /proc"],
    ["/dev/shm/x", "neither in nor above /dev"],
    ["/tmp", "does not hide /tmp"],
    ["/usr", "does not hide /usr"],
    ["relative", "an absolute path"],
    ["/srv/../etc", "without '..'"],
  ])("can't be %s", (shadowDir, wanted) => {
    const agreed = { workspaceIsRoot: shadowDir === "/" };
    const options = { shadowDir, workspacePath: "same", ...agreed } as const;
    const make = () => new BubblewrapNativeRunner(options);
    expect(make).toThrow(expect.objectContaining({ code: "ERR_INVALID_ARG_VALUE" }));
    expect(make).toThrow(/`shadowDir`/);
    expect(make).toThrow(wanted);
  });

  test("is of another policy", async () => {
    const workspace = kPlaces["below no mount of the sandbox"]();
    const argv = ["true"];
    const same = await runnerOf(workspace).exec({ argv });
    const usual = await runnerOf(workspace, { workspacePath: "/workspace" }).exec({ argv });
    const left = await runnerOf(workspace, { workspacePath: undefined }).exec({ argv });
    const hashOf = (result: SandboxedExecResult) => result.audits?.[0]?.policyHash;
    expect(hashOf(same)).not.toBe(hashOf(usual));
    expect(hashOf(left)).toBe(hashOf(usual));
    expect(same.audits?.[0]?.argv.join(" ")).toContain(` ${workspace}`);
  });

  test("has files whose paths begin there", async () => {
    const workspace = kPlaces["below no mount of the sandbox"]();
    const runner = runnerOf(workspace);
    await runner.files.write(`${workspace}/a/../b`, "text");
    expect(readFileSync(join(workspace, "b"), "utf8")).toBe("text");
    expect(await runner.files.read("b")).toEqual(await runner.files.read("/workspace/b"));
    const transaction = await runner.openTransaction({ directory: tempDirectory("state") });
    onTestFinished(() => transaction.discard());
    await sh(transaction, `echo inside > ${workspace}/b`);
    const text = await transaction.files.read(`${workspace}/b`);
    expect(Buffer.from(text).toString()).toBe("inside\n");
    expect(readFileSync(join(workspace, "b"), "utf8")).toBe("text");
    await expect(runner.files.read(`${workspace}/../b`)).rejects.toThrow();
  });
});

/** Why a test with this program can't run here; undefined if it is there. */
const whyNo = (program: string) => (existsSync(program) ? undefined : `there is no ${program}`);

describeSandboxed("what names the project's own path", () => {
  const both = async (make: (workspace: string) => void, line: string) => {
    const workspace = kPlaces["below no mount of the sandbox"]();
    make(workspace);
    const usual = runnerOf(workspace, { workspacePath: "/workspace" });
    return { same: await sh(runnerOf(workspace), line), usual: await sh(usual, line) };
  };

  testUnless(whyNo("/usr/bin/python3"), "works: a virtual environment", async () => {
    const make = (workspace: string) => {
      const args = ["-m", "venv", "--without-pip", ".venv"];
      execFileSync("/usr/bin/python3", args, { cwd: workspace });
      const script = join(workspace, ".venv", "bin", "tool");
      writeFileSync(
        script,
        `#!${workspace}/.venv/bin/python3\nimport sys\nprint("ran in", sys.prefix)\n`,
      );
      chmodSync(script, 0o755);
    };
    const { same, usual } = await both(make, ". .venv/bin/activate && tool");
    expect(same).toMatch(/^ran in \/var\/tmp\/native-runner-same-\w+\/\.venv\n$/);
    expect(usual).toContain("not found"); // control
  });

  testUnless(whyNo("/usr/bin/cmake"), "works: a build that CMake prepared", async () => {
    const make = (workspace: string) => {
      writeFileSync(
        join(workspace, "CMakeLists.txt"),
        "cmake_minimum_required(VERSION 3.16)\nproject(p NONE)\nadd_custom_target(made ALL COMMAND echo built it)\n",
      );
      execFileSync("/usr/bin/cmake", ["-S", ".", "-B", "build"], { cwd: workspace });
    };
    const { same, usual } = await both(make, "/usr/bin/cmake --build build 2>&1");
    expect(same).toContain("built it");
    expect(usual).toMatch(/is different than the directory|Error/); // control
  });
});
