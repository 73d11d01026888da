// As root too: root has more to keep from a command.
/**
 * What the host mounts while a sandbox is made could show inside where its mounts are shared, since
 * bwrap's are cut off from them only when it has made them. Then the sandbox is made once more. In a
 * mount namespace of our own; the bwrap is one that mounts something before it begins.
 */

import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

import { kNodeInside } from "../support/node-arguments.js";
import { describeUnless, isRoot, plainEnvironment, whyNoBindFd } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";

const hostFile = (name: string) => fileURLToPath(new URL(`../hosts/${name}`, import.meta.url));
const kApart = isRoot ? ["unshare", "-m"] : ["unshare", "-U", "-r", "-m"];
const kRefused = "mount-namespace: the host's mounts changed while it was made";
const kMostTries = 8;

function whyNot(): string | undefined {
  if (whyNoBindFd !== undefined) return whyNoBindFd; // most of it is about sandboxes made ahead
  const [program = "", ...args] = [...kApart, "true"];
  const tried = spawnSync(program, args, { encoding: "utf8" });
  return tried.status === 0 ? undefined : `no namespaces: ${tried.error ?? tried.stderr}`;
}

/**
 * A bwrap that mounts on `directory`/late, as long as the workspace's `mounts` is above 0: among the host's mounts, which
 * are those of its parent, since it may have been started with some of its own.
 */
function mountingBwrap(workspace: string, directory: string): string {
  const path = join(tempDirectory("tools", "/var/tmp"), "bwrap");
  const script = `#!/bin/sh
export PATH=/usr/local/bin:/usr/bin:/bin
if [ "$1" = --help ]; then exec bwrap --help; fi
echo x >> ${workspace}/calls
while [ -e ${workspace}/wait ]; do sleep 0.01; done
left=$(cat ${workspace}/mounts 2> /dev/null || echo 0)
if [ "$left" -gt 0 ]; then
  echo $((left - 1)) > ${workspace}/mounts
  nsenter --mount=/proc/$PPID/ns/mnt mount -t tmpfs late ${directory}/late || exit 9
fi
exec bwrap "$@"
`;
  writeFileSync(path, script);
  chmodSync(path, 0o755);
  return path;
}

type Seen = { kind: string; times: number; end: string; calls: number };

/** What a host says, in a mount namespace whose mounts are shared or not; a line each. */
function linesOf(host: string, propagation: "shared" | "private"): string[] {
  const workspace = tempDirectory("work", "/var/tmp");
  const directory = tempDirectory("shown", "/var/tmp");
  mkdirSync(join(directory, "late"));
  mkdirSync(join(workspace, "home"));
  const bwrap = mountingBwrap(workspace, directory);
  const [program = "", ...apart] = [...kApart, "--propagation", propagation];
  const args = [...apart, ...kNodeInside, hostFile(host), bwrap, workspace, directory];
  const ran = spawnSync(program, args, {
    encoding: "utf8",
    env: { ...plainEnvironment(), HOME: join(workspace, "home") },
  });
  expect(ran.stderr).toBe("");
  return ran.stdout.trim().split("\n");
}

const kKinds = ["run", "live", "session", "project"];

describeUnless(whyNot(), "a filesystem that the host mounts while a sandbox is made", () => {
  test("has the sandbox made once more, in time, and is told where that goes on and on", () => {
    const lines = linesOf("mounts/in-set-up.mjs", "shared");
    const handedOver = JSON.parse(lines.pop() ?? "{}");
    expect(handedOver).toMatchObject({ end: "timed-out", prewarmed: false });
    expect(handedOver.calls).toBeGreaterThanOrEqual(2); // the pool may have begun a third
    const seen = lines.map((line) => JSON.parse(line) as Seen);
    expect(seen.map(({ kind, times }) => [kind, times])).toEqual(
      [0, 1, 3, 100].flatMap((times) => kKinds.map((kind) => [kind, times])),
    );
    for (const { kind, times, end, calls } of seen) {
      const label = `${kind}, ${times} mounts`;
      expect(calls, label).toBe(Math.min(times + 1, kMostTries));
      if (times < kMostTries) expect(end, label).toMatch(/^in/);
      else expect(end, label).toContain(kRefused);
    }
  });

  test("is not there until the next one is made, where the host's mounts are its own", () => {
    const lines = linesOf("mounts/in-set-up.mjs", "private");
    const seen = lines.slice(0, -1).map((line) => JSON.parse(line) as Seen);
    let before = 0; // mounts at its beginning: one of each call of bwrap, as long as there are some left
    for (const { kind, times, end, calls } of seen) {
      if (kind === "run" || kind === "live") {
        expect({ kind, times, end, calls }).toEqual({ kind, times, end: `in ${before}`, calls: 1 });
      }
      before += Math.min(calls, times);
    }
    expect(before).toBeGreaterThan(10);
  });

  test.each(["shared", "private"] as const)("is in no clone too few or too many: %s", (how) => {
    type Run = { start: string; seen: number | string; before: number; after: number };
    const runs = linesOf("clones/in-set-up.mjs", how).map((line) => JSON.parse(line) as Run);
    for (const each of runs) {
      expect(each.seen, JSON.stringify(each)).toBeGreaterThanOrEqual(each.before);
      expect(each.seen, JSON.stringify(each)).toBeLessThanOrEqual(each.after);
    }
    const clones = runs.filter(({ start }) => start === "cloned");
    expect(new Set(clones.map(({ seen }) => seen)).size).toBeGreaterThan(1);
    expect(runs.at(-1)?.after).toBeGreaterThan(1);
  });

  test("does not show inside where the host's mounts are made shared without a word", () => {
    expect(linesOf("mounts/made-shared.mjs", "private").map((line) => JSON.parse(line))).toEqual([
      { when: "own", end: "in", calls: 1 },
      { when: "own again", end: "in", calls: 1 },
      { when: "shared", end: "in", calls: 2 },
      { when: "shared again", end: "in", calls: 1 },
      { when: "a mount meanwhile", end: "0", calls: 1 },
      { when: "a mount before", end: "1", calls: 1 },
    ]);
  });
});
