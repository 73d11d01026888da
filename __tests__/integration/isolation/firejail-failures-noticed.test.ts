// As root too: root has more to keep from a command.
/**
 * What only Firejail does: nested, it runs a command unconfined and says so in passing; and what it
 * can't follow of its options it may pass over. None of it is believed.
 */

import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

import { createRuntime, FirejailNativeRunner } from "../../../lib/index.js";
import { command, kCli, whyNoCli } from "../support/built-cli.js";
import { kNodeInside } from "../support/node-arguments.js";
import { kMarker, marked, newMark } from "../support/processes.js";
import { describeUnless, isRoot, whyNoBubblewrap } from "../support/requirements.js";
import { run } from "../support/results.js";
import { describeRuntime, whyNo } from "../support/runtimes.js";
import { tempDirectory } from "../support/temp.js";

const kHost = fileURLToPath(new URL("../hosts/firejail.mjs", import.meta.url));
const kQuiet = { environment: {}, warn: () => {} };

/** Another sandbox around, of the kind that containers are; it hides nothing. */
const kNest = ["bwrap", "--unshare-user", "--unshare-pid", "--bind", "/", "/"];
const kNested = [...kNest, "--dev-bind", "/dev", "/dev", "--proc", "/proc", "--"];

describeUnless(
  whyNoCli ?? whyNo("firejail") ?? whyNoBubblewrap,
  "nested in another sandbox",
  () => {
    const script = (file: string) => `cat ../secret; echo x > ${file}`;
    const makeWorkspace = () => {
      const outside = tempDirectory();
      writeFileSync(join(outside, "secret"), "not for you");
      const workspace = join(outside, "work");
      mkdirSync(workspace);
      return workspace;
    };

    test("firejail itself runs the command unconfined, and exits with 0", () => {
      const workspace = makeWorkspace();
      const words = ["firejail", "--noprofile", "--net=none", "--", "sh", "-c"];
      const { status, stdout, stderr } = command([
        ...kNested,
        ...words,
        `cd ${workspace} && ${script("ran")} && readlink /proc/self/ns/net`,
      ]);
      const { stdout: hosts } = command(["readlink", "/proc/self/ns/net"]);
      expect({ status, stdout }).toEqual({ status: 0, stdout: `not for you${hosts}` });
      expect(stderr).toContain("an existing sandbox was detected");
      expect(existsSync(join(workspace, "ran"))).toBe(true);
    });

    test("ours is refused before the command starts, which runs where it is not nested", () => {
      const workspace = makeWorkspace();
      const host = [...kNodeInside, kHost, workspace];
      const nested = command([...kNested, ...host, script("ran")]);
      expect(JSON.parse(nested.stdout)).toMatchObject({
        kind: "setup-failed",
        reason: expect.stringContaining("mount-namespace: the command would run in the host's own"),
      });
      expect(readdirSync(workspace)).toEqual([]);
      expect(JSON.parse(command([...host, script("ran")]).stdout)).toEqual({ kind: "exited" });
      expect(readdirSync(workspace)).toEqual(["ran"]);
    });

    test("doctor calls it broken, and sends elsewhere", () => {
      const doctor = [...kCli, "doctor", "--json", "--runtime", "firejail"];
      const { status, stdout } = command([...kNested, ...doctor]);
      expect(status).toBe(1);
      const { runtimes } = JSON.parse(stdout) as { runtimes: { name: string }[] };
      expect(runtimes.find(({ name }) => name === "firejail")).toMatchObject({
        state: "broken",
        reason: expect.stringContaining("mount-namespace"),
        fix: expect.stringContaining("use bubblewrap or landlock"),
      });
    });
  },
);

/** A firejail that passes over options, or (with all of them) does nothing but run the command. */
function careless(pattern: string): string {
  const path = join(tempDirectory("stub"), "firejail");
  const real = command(["sh", "-c", "command -v firejail"]).stdout.trim();
  const lines = [
    "#!/bin/sh",
    'left=$#; exec=""',
    "while [ $left -gt 0 ]; do",
    "  word=$1; shift; left=$((left - 1))",
    `  case $word in ${pattern}) ;; *) set -- "$@" "$word" ;; esac`,
    "done",
    `case "$1" in --*) exec ${real} "$@" ;; *) exec "$@" ;; esac`,
  ];
  writeFileSync(path, `${lines.join("\n")}\n`);
  chmodSync(path, 0o755);
  return path;
}

describeRuntime("firejail", () => {
  const exec = (options: object, script: string, shadowDir = tempDirectory()) =>
    run(new FirejailNativeRunner({ shadowDir, ...options }), script);

  describe("that does less than it is told", () => {
    const cases: [what: string, pattern: string, reason: string][] = [
      ["hides a directory too little", "--blacklist=/var", "hidden-files: /var is the host's own"],
      ["keeps the devices", "--private-dev", "hidden-files: /dev is the host's own"],
      ["keeps /run", "--whitelist=/run/*", "hidden-files: /run is the host's own"],
      ["keeps the network", "--net=none", "network-namespace: the command would run in the host's"],
      ["does nothing at all", "--*", "mount-namespace: the command would run in the host's own"],
    ];
    if (isRoot) {
      const toRoot = "read-only-root: /run/firejail is not mounted read-only";
      cases.push(
        ["keeps capabilities", "--caps.drop=all", "no-capabilities: some are left"],
        [
          "shows root's secrets",
          "--blacklist=/etc/shadow",
          "hidden-files: /etc/shadow is the host",
        ],
        ["leaves its own records to root", "--read-only=/run", toRoot],
      );
    }
    test.each(cases)("%s", async (_, pattern, reason) => {
      const workspace = tempDirectory();
      const firejailPath = careless(pattern);
      const { result, out } = await exec({ firejailPath }, "echo ran > ran; echo ran", workspace);
      expect(result.outcome).toMatchObject({
        kind: "setup-failed",
        reason: expect.stringContaining(reason),
      });
      expect({ out, left: readdirSync(workspace) }).toEqual({ out: "", left: [] });
    });

    test("is the only one that is refused", async () => {
      expect(await exec({ firejailPath: careless("nothing") }, "echo ran")).toMatchObject({
        out: "ran",
        kind: "exited",
      });
    });
  });

  test("is not told of a path that it would take for a pattern", async () => {
    for (const [name, works] of [
      ["a b", true],
      ["it's", true],
      ["a*b", false],
      ["a,b", false],
      ["[a]", false],
    ] as const) {
      const workspace = join(tempDirectory(), name);
      mkdirSync(workspace);
      const { out, result } = await exec({}, "pwd", workspace);
      if (works) expect(out).toBe(workspace);
      else {
        expect(result.outcome).toMatchObject({
          kind: "setup-failed",
          reason: expect.stringContaining(`Firejail can't be told of "${workspace}"`),
        });
      }
    }
  });

  test("with an option that opens it shows that, and does not claim what it undoes", async () => {
    const look = "ls -A /var | wc -l";
    const hidden = await exec({}, look);
    expect(hidden.out).toBe("0");
    expect(hidden.result.audits[0]?.layers).toContain("hidden-files");
    const extraArgs = ["--noblacklist=/var"];
    const shown = await exec({ extraArgs }, look);
    expect(Number(shown.out)).toBeGreaterThan(0);
    expect(shown.result.audits[0]?.layers).toContain("opened:--noblacklist=/var");
    expect(shown.result.audits[0]?.layers).not.toContain("hidden-files");
    const refused = await exec({ extraArgs, required: ["hidden-files"] }, look);
    expect(refused.result.outcome).toMatchObject({
      kind: "setup-failed",
      reason: expect.stringMatching(/hidden-files.*--noblacklist=\/var/),
    });
  });

  test("with a profile leaves files to it, and claims nothing of them", async () => {
    const profile = join(tempDirectory(), "test.profile");
    writeFileSync(profile, "blacklist /var\n");
    const seen = await exec({ profile }, "ls -A /var | wc -l; ls -A / | wc -l");
    expect(seen.out.split("\n")).toEqual(["0", String(readdirSync("/").length)]);
    const { layers = [], argv = [] } = seen.result.audits[0] ?? {};
    expect(layers).toEqual(expect.arrayContaining(["mount-namespace", "no-capabilities"]));
    expect(layers).not.toContain("hidden-files");
    expect(argv.slice(0, 2)).toEqual(["--quiet", `--profile=${profile}`]);
    const config = { runtimeType: "firejail", firejail: { profile } } as const;
    await expect(createRuntime(config, kQuiet)).rejects.toMatchObject({
      message: expect.stringContaining("does not confine"),
      fix: expect.stringContaining("profile"),
    });
  });

  test("ends all processes with its launcher, when the command kills that", async () => {
    const mark = newMark();
    const runner = new FirejailNativeRunner({ shadowDir: tempDirectory() });
    const script = "setsid sleep 1000 & kill -9 $PPID; sleep 1000";
    const seen = await run(runner, script, { env: { [kMarker]: mark } });
    expect(seen.kind).toBe("signaled");
    expect(marked(mark)).toEqual([]);
  });

  test("adds nothing to what a command writes, wherever the workspace is", async () => {
    for (const workspace of [tempDirectory(), tempDirectory("work", "/var/tmp")]) {
      const { out, err, exitCode } = await exec({}, "pwd; echo no >&2; exit 3", workspace);
      expect({ out, err, exitCode }).toEqual({ out: workspace, err: "no", exitCode: 3 });
    }
  });

  test("has the options that were asked for in the record, and then the command", async () => {
    const { result } = await exec({ extraArgs: ["--hostname=box"] }, "hostname");
    const { cmd, argv = [], layers } = result.audits[0] ?? {};
    expect({ cmd, own: argv.slice(0, 2) }).toEqual({
      cmd: "firejail",
      own: ["--quiet", "--noprofile"],
    });
    expect(argv).toEqual(expect.arrayContaining(["--net=none", "--hostname=box"]));
    expect(argv.slice(-4)).toEqual(["--", "sh", "-c", "hostname"]);
    expect(layers).not.toContain("opened:--hostname=box");
  });
});
