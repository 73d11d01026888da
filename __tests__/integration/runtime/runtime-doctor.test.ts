/** `native-runner doctor` and `run --runtime` as commands. They need a built dist/. */

import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

import { kHungMs } from "../../support/waits.js";
import { kNodeInside, kNodeProgram } from "../support/node-arguments.js";
import { describeUnless, testUnless } from "../support/requirements.js";
import { whyNo } from "../support/runtimes.js";
import { tempDirectory } from "../support/temp.js";

const kMain = fileURLToPath(new URL("../../../dist/cli/main.js", import.meta.url));
type Report = {
  chosen: string | null;
  devices: { family: string; available: boolean; reason?: string }[];
  bounds: { limit: string; kept: boolean; by?: string; fix?: string }[];
  runtimes: {
    name: string;
    state: string;
    reason?: string;
    fix?: string;
    emptyRunMs?: number;
    secrets?: { state: string; reason?: string };
    clones?: { state: string; reason?: string; probes: { verdict: string }[] };
  }[];
};

function command(words: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const [program = "", ...args] = words;
  const options = { encoding: "utf8", env: { ...process.env, ...env }, timeout: kHungMs } as const;
  return spawnSync(program, args, { ...options, cwd: tempDirectory() });
}

const cli = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  command([kNodeProgram, kMain, ...args], env);

function runtimeOf(report: Report, name: string) {
  const found = report.runtimes.find((runtime) => runtime.name === name);
  if (found === undefined) throw new Error(`no ${name} in the report`);
  return found;
}

/** A PATH on which bwrap is a stub that fails. */
function brokenPath(): string {
  const directory = tempDirectory("stub");
  writeFileSync(
    join(directory, "bwrap"),
    "#!/bin/sh\n[ \"$1\" = --help ] && exec /usr/bin/bwrap --help\necho 'bwrap: stubbed out' >&2\nexit 1\n",
  );
  chmodSync(join(directory, "bwrap"), 0o755);
  return `${directory}:${process.env.PATH}`;
}

const landlock = whyNo("landlock") === undefined;
const bubblewrap = whyNo("bubblewrap") === undefined;
const whyNoCommand = existsSync(kMain) ? undefined : "dist/ is not built: npm run build";

describeUnless(whyNoCommand, "doctor", () => {
  testUnless(whyNo("bubblewrap"), "proves, measures, and exits with 0", () => {
    const { status, stdout, stderr } = cli(["doctor", "--json"]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    const report = JSON.parse(stdout) as Report;
    expect(report.chosen).toBe("bubblewrap");
    expect(runtimeOf(report, "bubblewrap")).toMatchObject({ state: "available" });
    expect(runtimeOf(report, "bubblewrap").emptyRunMs).toBeGreaterThan(0);
    const { clones } = runtimeOf(report, "bubblewrap");
    expect(clones).toMatchObject({ state: "proved" });
    expect(clones?.probes.map(({ verdict }) => verdict)).not.toContain("reached");
    expect(clones?.probes).toHaveLength(5);
    expect(runtimeOf(report, "bubblewrap").secrets).toEqual({ state: "proved" });
    const families = ["nvidia", "dri", "kfd", "kvm", "fuse", "tun"];
    expect(report.devices.map(({ family }) => family)).toEqual(families);
    const limits = [
      "memoryBytes",
      "maxProcesses",
      "cpuShare",
      "ioShare",
      "writeBytes",
      "reserveBytes",
    ];
    expect(report.bounds.map(({ limit }) => limit)).toEqual(limits);
    for (const { limit, kept, by, fix } of report.bounds) {
      expect(kept ? by : fix, limit).toMatch(/./);
      if (limit.endsWith("eBytes") || limit === "memoryBytes") expect(kept, limit).toBe(true);
    }
    for (const { available, reason } of report.devices) {
      expect(reason ?? "").toMatch(available ? /^$/ : /^\/dev\/.*, which /);
    }
  });

  testUnless(whyNo("bubblewrap"), "says why there can be no secrets", () => {
    const config = join(tempDirectory("configuration"), "config.json");
    writeFileSync(config, JSON.stringify({ bubblewrap: { isolation: "compat" } }));
    const { stdout } = cli(["doctor", "--json", "--config", config]);
    const { state, secrets } = runtimeOf(JSON.parse(stdout) as Report, "bubblewrap");
    expect(state).toBe("available");
    expect(secrets?.state).toBe("broken");
    expect(secrets?.reason).toMatch(/isolation/);
  });

  testUnless(whyNo("bubblewrap"), "says why clones are not used", () => {
    const config = join(tempDirectory("configuration"), "config.json");
    writeFileSync(config, JSON.stringify({ bubblewrap: { procBind: false } }));
    const { stdout } = cli(["doctor", "--json", "--config", config]);
    const { state, clones } = runtimeOf(JSON.parse(stdout) as Report, "bubblewrap");
    expect(state).toBe("available");
    expect(clones).toEqual({ state: "unused", reason: "it has no /proc", probes: [] });
  });

  test("is a table without colours where there is no terminal", () => {
    const { stdout } = cli(["doctor"], { FORCE_COLOR: "1", CI: "1" });
    expect(stdout).not.toContain("\x1b");
    expect(stdout).toMatch(/│ Runtime .*│ State .*│ Empty run │/);
    for (const title of ["Bubblewrap", "Landlock", "Firejail", "Native"]) {
      expect(stdout).toContain(`│ ${title}`);
    }
  });

  test("tells of a broken bwrap, and what is taken in its place", () => {
    const { status, stdout } = cli(["doctor", "--json"], { PATH: brokenPath() });
    const report = JSON.parse(stdout) as Report;
    expect(runtimeOf(report, "bubblewrap")).toMatchObject({
      state: "broken",
      reason: expect.stringContaining("stubbed out"),
    });
    if (landlock)
      expect({ status, chosen: report.chosen }).toEqual({ status: 0, chosen: "landlock" });
  });

  test("exits with 1 where the one that is asked for does not work", () => {
    const { status, stdout } = cli(["doctor", "--runtime", "bubblewrap"], { PATH: brokenPath() });
    expect(status).toBe(1);
    expect(stdout.trimEnd().split("\n").at(-1)).toBe("bubblewrap does not work here");
  });

  test("refuses a configuration that it does not understand", () => {
    const path = join(tempDirectory(), "runtime.json");
    writeFileSync(path, '{"bubblewrap": {"ro_bind": []}}');
    const { status, stderr } = cli(["doctor", "--config", path]);
    expect(status).toBe(2);
    expect(stderr).toContain("did you mean `roBinds`?");
  });
});

describeUnless(whyNoCommand, "run --runtime", () => {
  test("runs as the runtime does, and exits as the command does", () => {
    const { status, stdout } = cli(["run", "--runtime", "native", "--", "sh", "-c", "pwd; exit 4"]);
    expect(status).toBe(4);
    expect(stdout).toContain("native-runner-work-");
    if (!bubblewrap) return;
    expect(cli(["run", "--runtime", "auto", "--", "pwd"]).stdout).toBe("/workspace\n");
  });

  test("exits with 125 where a sandbox is required and none works, and runs nothing", () => {
    const env = {
      PATH: brokenPath(),
      OPENAGENTIC_SANDBOX_REQUIRED: "1",
      OPENAGENTIC_RUNTIME_TYPE: "bubblewrap",
    };
    const { status, stdout, stderr } = cli(["run", "--", "echo", "ran"], env);
    expect({ status, stdout }).toEqual({ status: 125, stdout: "" });
    expect(stderr).toContain("bubblewrap does not work here, and one is required");
  });
});

/** A container that covers parts of /proc, as Docker does: no further /proc may be mounted in it. */
const kMaskedProc = [
  ...["bwrap", "--unshare-user", "--unshare-pid", "--dev-bind", "/", "/", "--proc", "/proc"],
  ...["--ro-bind", "/dev/null", "/proc/loadavg", "--"],
];

describeUnless(whyNoCommand ?? whyNo("bubblewrap"), "a host that hides parts of /proc", () => {
  const nested = (config: object) => {
    const path = join(tempDirectory(), "runtime.json");
    writeFileSync(path, JSON.stringify(config));
    const args = ["doctor", "--json", "--config", path];
    return JSON.parse(command([...kMaskedProc, ...kNodeInside, kMain, ...args]).stdout) as Report;
  };

  test("is explained, and has Bubblewrap without one", () => {
    expect(runtimeOf(nested({}), "bubblewrap")).toMatchObject({
      state: "broken",
      reason: expect.stringContaining("mount proc"),
      fix: expect.stringContaining("`procBind: false`"),
    });
    const without = nested({ bubblewrap: { procBind: false } });
    expect(runtimeOf(without, "bubblewrap")).toMatchObject({ state: "available" });
    expect(without.chosen).toBe("bubblewrap");
  });
});

/** In a user namespace of its own, whose sysctl this is. */
const kNoNamespaces = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"';
const kInside = ["unshare", "--user", "--map-root-user", "sh", "-c", kNoNamespaces, "sh"];

function whyNotInside(): string | undefined {
  const { status, error, stderr } = command([...kInside, "true"]);
  if (status === 0) return undefined;
  return `no user namespace can be made here: ${error?.message ?? stderr.trim()}`;
}

describeUnless(whyNoCommand ?? whyNotInside(), "a host without user namespaces", () => {
  const nested = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
    command([...kInside, ...kNodeInside, kMain, ...args], env);
  const before = () => readFileSync("/proc/sys/user/max_user_namespaces", "utf8");

  test("is explained, with the sysctl that mends it", () => {
    const host = before();
    const { stdout, status } = nested(["doctor", "--json"]);
    const report = JSON.parse(stdout) as Report;
    expect(runtimeOf(report, "bubblewrap")).toMatchObject({
      state: "broken",
      reason: expect.stringContaining("max_*_namespaces exceeded"),
      fix: expect.stringContaining("sysctl -w user.max_user_namespaces="),
    });
    expect(report.chosen).toBe(landlock ? "landlock" : null);
    expect(status).toBe(landlock ? 0 : 1);
    expect(before()).toBe(host);
  });

  test("still gets a proven run through auto, or an error and no run", () => {
    const env = { OPENAGENTIC_SANDBOX_REQUIRED: "1" };
    const { status, stdout } = nested(
      ["run", "--runtime", "auto", "-w", "/tmp", "--", "echo", "ran"],
      env,
    );
    expect({ status, stdout }).toEqual(
      landlock ? { status: 0, stdout: "ran\n" } : { status: 125, stdout: "" },
    );
  });
});
