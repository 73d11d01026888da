/** A lease holds while the process that was to end the run is stopped: the run's own launcher keeps it. */

import { type Dirent, mkdirSync, readdirSync, type Stats, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { beforeAll, describe, expect, test } from "vitest";

import { loadAddon } from "../../../lib/native.js";
import { eventually, kQuietMs } from "../../support/waits.js";
import { type Host, killHost, startHost } from "../support/host-program.js";
import { buildProbe } from "../support/probe.js";
import { childrenOf, marked, newMark } from "../support/processes.js";
import { testUnless, whyNoBindFd, whyNoBubblewrap } from "../support/requirements.js";
import { whyNo } from "../support/runtimes.js";
import { tempDirectory } from "../support/temp.js";

const kLeaseMs = 1500;
/** For a machine under load: to see the end of the lease, and to kill what there is. */
const kMarginMs = 2000;

/** Each appends to `count` every 50 ms, as fast as a shell gets to it. */
const kCounts = "while :; do echo x >> count; sleep 0.05; done";
const kTrees = {
  plain: kCounts,
  // Its own sessions, deaf to signals, orphans of orphans, and stopped ones.
  hiding: `
    setsid sh -c 'trap "" TERM HUP INT; ${kCounts}' &
    (setsid sh -c '(${kCounts}) &' &)
    for i in 1 2 3 4 5 6 7 8; do sleep 1000 & kill -STOP $!; done
    ${kCounts}`,
  // Eight chains, each of 3,000 processes at most: every one makes the next and is gone.
  forking: `
    chain() {
      echo x >> count
      if [ $1 -gt 0 ]; then ( sleep 0.005; chain $(($1 - 1)) ) & fi
    }
    for i in 1 2 3 4 5 6 7 8; do (chain 3000 &); done
    sleep 1000`,
  stopping: `
    (while :; do kill -STOP $PPID; sleep 0.01; done) 2> /dev/null &
    ${kCounts}`,
};
type Tree = keyof typeof kTrees;

/** Without what its owner may not look at either: an overlay's own directory. */
function entriesOf(directory: string): Dirent[] {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch {
    return [];
  }
}

/** All files `count`: in a transaction it is not in the workspace. */
function counts(directory: string): Stats[] {
  return entriesOf(directory).flatMap((entry) => {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) return counts(path);
    return entry.name === "count" ? [statSync(path)] : [];
  });
}

const counted = (directory: string) => counts(directory).reduce((sum, { size }) => sum + size, 0);
const lastWrite = (directory: string) =>
  Math.max(...counts(directory).map(({ mtimeMs }) => mtimeMs));

type Leased = { host: Host; directory: string; mark: string; pid: number };

/** Where it is not process 1, Landlock alone keeps signals from a launcher. */
const whyNoScopedSignals = (): string | undefined =>
  loadAddon().landlockAbi() >= 6 ? undefined : "Landlock can't scope signals (Linux 6.12)";

let probe = "";
beforeAll(() => {
  probe = buildProbe(tempDirectory("probe"));
});

/** A host whose run is under way. */
async function begin(kind: string, ms: number, tree: Tree): Promise<Leased> {
  const directory = tempDirectory("lease");
  mkdirSync(join(directory, "work"));
  mkdirSync(join(directory, "state"), { mode: 0o700 });
  writeFileSync(join(directory, "work/command.sh"), kTrees[tree]);
  const mark = newMark();
  const args = [kind, directory, String(ms), mark];
  const host = startHost(probe, "leases/leased.mjs", { args });
  await eventually("the command has begun", () => counted(directory) > 10);
  const [pid = 0] = childrenOf(host.reaper.pid ?? 0);
  return { host, directory, mark, pid };
}

const endOf = async ({ host }: Leased) => {
  const { out, err, left } = await host.ended;
  expect(left).toEqual([]);
  const line = out.trim().split("\n").at(-1) ?? "";
  if (!line.startsWith("{")) throw new Error(`the host said ${out}, and ${err}`);
  return JSON.parse(line) as Record<string, unknown>;
};

const kBubblewrap = [
  ["cold", "cold"],
  ["compat", "cold"],
  ["cloned", "cloned"],
  ["prewarmed", "prewarmed"],
  ["session", "session"],
  ["transaction", "cold"],
  ["spawn", "cold"],
  ["terminal", "cold"],
  ["explained", "cold"],
] as const;
const kByDescriptor: readonly string[] = ["cloned", "prewarmed", "transaction"];
const whyNoSandboxOf = (kind: string) =>
  kByDescriptor.includes(kind) ? whyNoBindFd : whyNoBubblewrap;
const kKinds: readonly (readonly [kind: string, start: string, why: string | undefined])[] = [
  ...kBubblewrap.map(([kind, start]) => [kind, start, whyNoSandboxOf(kind)] as const),
  ["landlock", "cold", whyNo("landlock")],
  ["landlock session", "session", whyNo("landlock")],
  ["firejail", "cold", whyNo("firejail")],
  ["local", "cold", undefined],
];

describe.concurrent.each(kKinds)("%s: while the host is stopped", (kind, start, why) => {
  const frozen = async (tree: Tree) => {
    const leased = await begin(kind, kLeaseMs, tree);
    process.kill(leased.pid, "SIGSTOP");
    const stoppedAt = Date.now();
    await eventually("all of it is gone", () => marked(leased.mark).length === 0);
    await delay(Math.max(0, stoppedAt + kLeaseMs + kMarginMs - Date.now()));
    const before = counted(leased.directory);
    await delay(kQuietMs);
    expect(counted(leased.directory)).toBe(before);
    expect(lastWrite(leased.directory) - stoppedAt).toBeLessThan(kLeaseMs + kMarginMs);
    process.kill(leased.pid, "SIGCONT");
    return endOf(leased);
  };
  const kExpired = {
    exitCode: 137,
    outcome: { kind: "lease-expired" },
    kill: "proved",
    renewed: false,
  };

  testUnless(why, "a run ends with its lease", async () => {
    expect(await frozen("plain")).toEqual({ ...kExpired, start });
  });

  testUnless(why, "and one without a lease goes on", async () => {
    const { host, directory, pid } = await begin(kind, 0, "plain");
    process.kill(pid, "SIGSTOP");
    await delay(kLeaseMs + kMarginMs);
    const before = counted(directory);
    await eventually("it has gone on", () => counted(directory) > before);
    killHost(host);
    expect((await host.ended).left).toEqual([]);
  });

  testUnless(why, "however its processes hide", async () => {
    expect(await frozen("hiding")).toMatchObject(kExpired);
  });

  testUnless(why, "and however fast it forks", async () => {
    expect(await frozen("forking")).toMatchObject(kExpired);
  });
});

/** Where the launcher is process 1 of its pid namespace, or out of reach by Landlock (Linux 6.12). */
describe.concurrent.each(kKinds.filter(([kind]) => kind !== "local"))("%s", (kind, _, why) => {
  const isOut = ["session", "landlock session", "firejail"].includes(kind);
  const whyNot = why ?? (isOut ? whyNoScopedSignals() : undefined);
  testUnless(whyNot, "a command can't stop its launcher, and with it the lease", async () => {
    const leased = await begin(kind, kLeaseMs, "stopping");
    process.kill(leased.pid, "SIGSTOP");
    await eventually("all of it is gone", () => marked(leased.mark).length === 0);
    process.kill(leased.pid, "SIGCONT");
    expect(await endOf(leased)).toMatchObject({ outcome: { kind: "lease-expired" } });
  });
});

describe("without confinement", () => {
  test("a command can stop its launcher, and ends when the host goes on", async () => {
    const leased = await begin("local", kLeaseMs, "stopping");
    process.kill(leased.pid, "SIGSTOP");
    await delay(kLeaseMs + kMarginMs);
    const before = counted(leased.directory);
    await eventually("it has gone on", () => counted(leased.directory) > before);
    process.kill(leased.pid, "SIGCONT");
    expect(await endOf(leased)).toMatchObject({ outcome: { kind: "lease-expired" } });
    expect(marked(leased.mark)).toEqual([]);
  });
});
