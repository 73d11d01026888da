// As root too: there the host is a user who has nothing else, whose pools are tried whole.
/**
 * What the kernel gives a user's processes, or the machine's, all together. A command takes all of it that it can get: its
 * host and other runs of the same user go on, and where one can't be set up, its reason is the true one.
 */

import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, test } from "vitest";

import { isSanitized } from "../../support/sanitized.js";
import { jsonOfHost } from "../support/host-program.js";
import { kNodeInside } from "../support/node-arguments.js";
import { buildProbe } from "../support/probe.js";
import { describeUnless, isRoot, testUnless, whyNoBubblewrap } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";

const kProgram = fileURLToPath(new URL("../hosts/shared-pools.mjs", import.meta.url));

/** A number that no user has. */
const kSpareUser = "61501";
const kAsSpareUser = [
  ...["prlimit", "--nofile=20000", "--sigpending=50000", "--msgqueue=819200"],
  ...["setpriv", `--reuid=${kSpareUser}`, `--regid=${kSpareUser}`, "--clear-groups"],
];
/**
 * For an ordinary user: namespaces and limits of its own, so that neither other tests nor their user's other programs are
 * short of anything.
 */
const kInOwnPools = [
  ...["unshare", "-Ur", "sh", "-ec"],
  `echo 16 > /proc/sys/user/max_inotify_instances; echo 500 > /proc/sys/user/max_inotify_watches
   exec prlimit --nofile=2048 --sigpending=300 --msgqueue=200000 unshare -U --map-user=1000 --map-group=1000 "$@"`,
  "sh",
];
const kBefore = isRoot ? kAsSpareUser : kInOwnPools;

function whyNoHost(): string | undefined {
  if (whyNoBubblewrap) return whyNoBubblewrap;
  const [command = "", ...words] = [
    ...kBefore,
    "bwrap",
    "--ro-bind",
    "/",
    "/",
    "test",
    "-r",
    kProgram,
  ];
  const { status, stderr, error } = spawnSync(command, words, { encoding: "utf8" });
  if (status === 0) return undefined;
  return `no such host can be started: ${error?.message ?? (stderr.trim() || `${kProgram} can't be read`)}`;
}

const kMost = 6_000_000;
const kKinds = [
  "cold",
  "cloned",
  "prewarmed",
  "session",
  "terminal",
  "transaction",
  "network",
  "project",
  "host",
];
const kWatches = Number(readFileSync("/proc/sys/fs/epoll/max_user_watches", "utf8"));
const kEpoll = kWatches < kMost ? undefined : `${kWatches} watches are too many to be taken`;
/** Whole pools of a user without a namespace or a limit that would part them. */
const kWhole = isRoot ? undefined : "it would be taken from this user's other programs";

type Row = {
  pool: string;
  taken: RegExp;
  whyNot?: string | undefined;
  refused?: Record<string, RegExp>;
  without?: string;
};
const kRows: Row[] = [
  { pool: "files", taken: /^\d+ EMFILE$/ },
  { pool: "in-flight", taken: /^\d+ ETOOMANYREFS$/ },
  { pool: "inotify", taken: /^\d+ EMFILE$/ },
  { pool: "watches", taken: /^\d+ ENOSPC$/ },
  { pool: "queues", taken: /^\d+ EMFILE$/ },
  { pool: "signals", taken: /^\d+ EAGAIN$/ },
  { pool: "timers", taken: /^\d+ EAGAIN$/ },
  { pool: "keys", taken: /^0 EPERM$/ },
  { pool: "aio", taken: /^0 EPERM$/ },
  { pool: "pipes", taken: /^\d+ EMFILE$/, whyNot: kWhole },
  {
    pool: "epoll",
    taken: /^\d+ ENOSPC$/,
    whyNot: kWhole ?? kEpoll,
    refused: { network: /epoll watches are used up/ },
    without: "host", // Node's own event loop ends the process: docs/security/host.md
  },
];

type Told = string | { reason?: string; fix?: string };
type Seen = { taken: string; took: Told; while: Record<string, Told>; after: Record<string, Told> };

const whyNot = isSanitized ? "a sanitizer's own memory is in the way" : whyNoHost();

describeUnless(whyNot, "a command that takes all", () => {
  let directory = "";
  let probe = "";
  beforeAll(() => {
    directory = tempDirectory("pools", "/var/tmp");
    probe = buildProbe(tempDirectory("tools", "/var/tmp"));
    chmodSync(probe, 0o755);
    if (isRoot) chownSync(directory, Number(kSpareUser), Number(kSpareUser));
  });

  const seenWith = (pool: string, kinds: readonly string[], limits = {}) => {
    const given = { pool, most: kMost, probe, directory, limits, kinds };
    return jsonOfHost<Seen>([...kBefore, ...kNodeInside, kProgram, JSON.stringify(given)], {
      HOME: directory,
    });
  };

  for (const { pool, taken, whyNot: why, refused = {}, without } of kRows) {
    testUnless(why, `${pool} leaves enough to others`, async () => {
      const kinds = kKinds.filter((kind) => kind !== without);
      const seen = await seenWith(pool, kinds);
      expect(seen.taken, "control").toMatch(taken);
      const ends = kinds.map((kind) => {
        const reason = refused[kind];
        if (reason === undefined) return [kind, "exited 0"];
        return [kind, expect.objectContaining({ reason: expect.stringMatching(reason) })];
      });
      expect(seen.while).toEqual(Object.fromEntries(ends));
      expect(seen).toMatchObject({ took: "exited 0", after: { cold: "exited 0" } });
    });
  }

  test("the host's own number of descriptors, by its leave, is told to be the cause", async () => {
    const most = spawnSync(kBefore[0] ?? "", [...kBefore.slice(1), "sh", "-c", "ulimit -Hn"], {
      encoding: "utf8",
    });
    const kinds = ["session", "terminal", "network", "cold"];
    const seen = await seenWith("in-flight", kinds, { maxOpenFiles: Number(most.stdout) });
    expect(seen.taken, "control").toMatch(/ETOOMANYREFS$/);
    const { cold, ...others } = seen.while;
    expect(cold).toBe("exited 0");
    for (const [kind, told] of Object.entries(others)) {
      expect(JSON.stringify(told), kind).toMatch(/ETOOMANYREFS/);
      expect(JSON.stringify(told), kind).not.toMatch(/not implemented|leave out|Broken pipe/i);
    }
    expect(seen.after).toEqual({ cold: "exited 0" });
  });
});
