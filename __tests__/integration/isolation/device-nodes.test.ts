// As root too: only root inside is the owner of the host's device nodes.
/** The host's device nodes, and the lock of its accounts: no command changes or holds them. */

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";

import { kPlace, kWays } from "../support/mounts.js";
import {
  BubblewrapNativeRunner,
  type BubblewrapProcessSandboxOptions,
  Bwrap,
  type BwrapOptions,
  createBubblewrapProcessSandbox,
} from "../support/package.js";
import { buildProbe } from "../support/probe.js";
import {
  describeSandboxed,
  describeUnless,
  isRoot,
  plainEnvironment,
  whyNoBubblewrap,
} from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";
import { stateDirectory } from "../support/transactions.js";
import { kWayNames, sh, withWay } from "../support/ways.js";

const kNodes = ["null", "zero", "full", "random", "urandom", "tty"].map((name) => `/dev/${name}`);
// Each change is to what the node is already: where it is not refused, nothing of the host changes.
const kScript = `
  for node in ${kNodes.join(" ")}; do [ -c $node ] && nodes="$nodes $node"; done
  [ -c /proc/self/fd/0 ] && nodes="$nodes /proc/self/fd/0" # a live process has a pipe
  ./probe alter own $nodes 0 2>&1
  [ -c /dev/null ] || exit 0
  echo text > /dev/null && head -c 2 /dev/zero | wc -c && head -c 2 /dev/urandom | wc -c
  (echo text > /dev/full) 2> errors || echo full`;
const kUses = ["2", "2", "full"];
/** Changes that every file system knows; what else it knows is refused by the same rule. */
const kByPath = ["chmod", "chown", "utimensat", "setxattr"];
const kOpened = ["fchmod", "fchown", "futimens", "fsetxattr"];
const kOwn = [
  "own chmod",
  "own chown",
  "own utimensat",
  "own fchmod",
  "own fchown",
  "own futimens",
];

/** What was said of the command's own file, which can be changed, and of all else. */
function parted(out: string) {
  const lines = out.trimEnd().split("\n");
  const isOwn = (line: string) => line.startsWith("own ");
  return { own: lines.filter(isOwn), rest: lines.filter((line) => !isOwn(line)) };
}

function expectUnchanged(out: string, uses = kUses): void {
  const { own, rest } = parted(out);
  expect(rest).toEqual(["done", ...uses]);
  expect(own, "the control").toEqual(expect.arrayContaining(kOwn));
}

function workspace(): string {
  const directory = tempDirectory("work", kPlace);
  buildProbe(directory);
  writeFileSync(join(directory, "own"), "");
  return directory;
}

describeSandboxed("the host's device nodes", () => {
  let shadowDir = "";
  beforeAll(() => {
    shadowDir = workspace();
  });
  const cold = () => new BubblewrapNativeRunner({ shadowDir, prewarm: 0 });

  test("can be changed by root without a sandbox, in each of these ways", () => {
    const { stdout } = spawnSync("sh", ["-c", kScript], {
      cwd: shadowDir,
      encoding: "utf8",
      env: plainEnvironment(),
      stdio: ["ignore", "pipe", "inherit"],
    });
    const { own, rest } = parted(stdout);
    expect(own).toEqual(expect.arrayContaining(kOwn));
    const all = [
      ...[...kNodes, "/proc/self/fd/0"].flatMap((path) => kByPath.map((how) => `${path} ${how}`)),
      // /dev/tty is not there for who has no terminal.
      ...[...kNodes.slice(0, -1), "input"].flatMap((path) =>
        kOpened.map((how) => `${path} ${how}`),
      ),
    ];
    expect(rest).toEqual(isRoot ? expect.arrayContaining(all) : ["done", ...kUses]);
  });

  test.each(kWayNames)("can't be changed in %s", async (name) => {
    const { out } = await withWay(name, { shadowDir }, (way) => way.exec(kScript));
    expectUnchanged(out, name === "no /dev" ? [] : kUses);
  });

  test("can't be changed in a batch", async () => {
    const [result] = await cold().execBatch([sh(kScript)]);
    expectUnchanged(new TextDecoder().decode(result?.stdout));
  });

  test.each<[string, BwrapOptions]>([
    ["Bwrap", {}],
    ["Bwrap in a transaction", { transaction: { directory: "" } }],
    ["Bwrap with a network by domain", { network: { allow: ["a.test"] } }],
  ])("can't be changed by %s", async (_, options) => {
    const transaction = options.transaction && { directory: stateDirectory() };
    const bwrap = new Bwrap(shadowDir, [], false, {
      ...options,
      ...(transaction && { transaction }),
    });
    expectUnchanged(await bwrap.exec(kScript));
    if (transaction) await (await bwrap.transaction()).discard();
  });
});

/** The script of the page. */
const kGuard = /```sh\n(#![^`]+)```/.exec(
  readFileSync(new URL("../../../docs/process-sandbox.md", import.meta.url), "utf8"),
)?.[1];

describeUnless(
  whyNoBubblewrap ?? (isRoot ? undefined : "an ordinary user does not own the nodes"),
  "root's device nodes in a process sandbox",
  () => {
    const out = (options: BubblewrapProcessSandboxOptions) => {
      const hostPath = workspace();
      const { cmd, args } = createBubblewrapProcessSandbox(options).wrap({
        cmd: "sh",
        args: ["-c", kScript],
        env: {},
        mounts: [{ kind: "dir", label: "shadow-workspace", hostPath, guestPath: "/w", mode: "rw" }],
      });
      const stdio = ["ignore", "pipe", "inherit"] as const;
      return spawnSync(cmd, args, { encoding: "utf8", env: plainEnvironment(), stdio: [...stdio] })
        .stdout;
    };

    test("can be changed, as the page says", () => {
      expect(parted(out({})).rest).toContain("/dev/full chmod");
    });

    test("can't be changed if its bwrap is started by a script that mounts them read-only", () => {
      const bwrapPath = join(tempDirectory("guard"), "guarded-bwrap");
      writeFileSync(bwrapPath, kGuard ?? "", { mode: 0o755 });
      const { own, rest } = parted(out({ bwrapPath }));
      // Standard input is the host's to give.
      expect(rest.filter((line) => !/^(input|.proc.self.fd.0) /.test(line))).toEqual([
        "done",
        ...kUses,
      ]);
      expect(own).toEqual(expect.arrayContaining(kOwn));
    });
  },
);

const whyNoLock = !isRoot
  ? "an ordinary user can't read it anyway"
  : existsSync("/etc/.pwd.lock")
    ? undefined
    : "this host has no /etc/.pwd.lock";

describeUnless(whyNoLock, "the lock of the host's accounts", () => {
  test.each(kWays)("can't be opened in %s", async (_, way) => {
    const script = `for f in /etc/.pwd.lock /etc/passwd; do (exec 3< $f) 2> /dev/null && echo $f; done; true`;
    expect(await way([], script)).toBe("/etc/passwd\n");
  });
});
