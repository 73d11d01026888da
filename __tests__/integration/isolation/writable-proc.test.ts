// As root too: all of its /proc is read-only.
/**
 * Each file of /proc that a command can open for writing, with what was decided of it: one that a later kernel brings
 * fails here.
 */

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

import {
  BubblewrapNativeRunner,
  Bwrap,
  LandlockNativeRunner,
  LocalNativeRunner,
} from "../support/package.js";
import { buildProbe } from "../support/probe.js";
import { describeSandboxed, isRoot, testUnless } from "../support/requirements.js";
import { run } from "../support/results.js";
import { whyNo } from "../support/runtimes.js";
import { tempDirectory } from "../support/temp.js";
import { kWayNames, sh, withWay } from "../support/ways.js";

type Decisions = { files: string; why: string }[];

/** Of the processes of a run, which trust one another. A session's commands don't, and open none. */
const kOfProcesses: Decisions = [
  { files: "comm mem clear_refs coredump_filter timens_offsets", why: "what is its own anyway" },
  {
    files: "oom_adj oom_score_adj",
    why: "it may make itself the first to die; less than it was needs a capability",
  },
  {
    files: "autogroup sched timerslack_ns",
    why: "how it is scheduled: nice and timers of its own",
  },
  { files: "latency patch_state make-it-fail fail-nth", why: "of kernels that are debugged" },
  { files: "loginuid", why: "whom the audit subsystem names: itself, and never again" },
  {
    files: "uid_map gid_map projid_map setgroups",
    why: "are written already: a second write is refused",
  },
];
/** The kernel opens these of any process, and refuses all writes but a process's own. */
const kOfAny: Decisions = [
  {
    files: "attr/current attr/exec attr/fscreate attr/keycreate attr/sockcreate",
    why: "its own only",
  },
  { files: "attr/apparmor/current attr/apparmor/exec attr/smack/current", why: "its own only" },
  { files: "timerslack_ns", why: "another's needs CAP_SYS_NICE" },
];
const kOfNamespaces: Decisions = [
  {
    files: "msg_default msg_max msgsize_default msgsize_max queues_max".replace(
      /(^| )/g,
      "$1sys/fs/mqueue/",
    ),
    why: "bounds of the run's own IPC namespace",
  },
  {
    files: "auto_msgmni msgmax msgmnb msgmni sem shm_rmid_forced shmall shmmax shmmni".replace(
      /(^| )/g,
      "$1sys/kernel/",
    ),
    why: "bounds of the run's own IPC namespace",
  },
  {
    files: "sys/kernel/ns_last_pid sys/kernel/pid_max",
    why: "numbers of the run's own pid namespace",
  },
  {
    files: "pressure/cpu pressure/io pressure/memory",
    why: "wakes who has written, until that is closed",
  },
];

const named = (decisions: Decisions, of = "") =>
  decisions.flatMap(({ files }) => files.split(" ").map((file) => of + file));
const kDecided = new Set([
  ...named(kOfProcesses, "self/"),
  ...named(kOfProcesses, "other/"),
  ...["self/", "other/", "launcher/"].flatMap((of) => named(kOfAny, of)),
  ...named(kOfNamespaces),
]);

/** A thread's files count as its process's, pid 1 is the launcher. */
function openedBy(out: string): string[] {
  const [pid, ...paths] = out.trimEnd().split("\n");
  const who = (other: string) => (other === pid ? "self" : other === "1" ? "launcher" : "other");
  const name = (path: string) =>
    path
      .replace("/proc/", "")
      .replace(/\/task\/\d+/, "")
      .replace(/^\d+/, who);
  return [...new Set(paths.map(name))].sort();
}

const kWalk = "./probe writable /proc 2>&1";

describeSandboxed("files of /proc that a command can open for writing", () => {
  const shadowDir = tempDirectory("work", "/var/tmp");
  buildProbe(shadowDir);

  test("are many without a sandbox", async () => {
    // Not all of the host's processes: they come and go, and there may be thousands.
    const { out } = await run(
      new LocalNativeRunner({ shadowDir }),
      "exec ./probe writable /proc/$$",
    );
    expect(openedBy(out)).toEqual(expect.arrayContaining(["self/comm", "self/oom_score_adj"]));
    if (!isRoot) return;
    const system = await run(
      new LocalNativeRunner({ shadowDir }),
      "./probe writable /proc/sys/kernel",
    );
    expect(openedBy(system.out)).toContain("sys/kernel/core_pattern");
  });

  for (const name of kWayNames.filter((each) => each !== "no /proc")) {
    const why = isRoot && name === "isolation compat" ? "is no boundary as root" : undefined;
    testUnless(why, `are decided in ${name}`, async () => {
      const { out } = await withWay(name, { shadowDir }, (way) =>
        way.exec(`./probe landlock-abi; ${kWalk}`),
      );
      const [abi, ...walked] = out.split("\n");
      const opened = openedBy(walked.join("\n"));
      const isKeptApart = name.includes("session") && Number(abi) >= 6; // command-separation
      if (isRoot || isKeptApart) expect(opened).toEqual([]);
      else expect(opened.filter((file) => !kDecided.has(file))).toEqual([]);
      if (!isRoot && name === "a cold run") expect(opened, "control").toContain("self/comm");
    });
  }

  test("are decided in Bwrap", async () => {
    const opened = openedBy(await new Bwrap(shadowDir).exec(kWalk));
    expect(opened.filter((file) => isRoot || !kDecided.has(file))).toEqual([]);
  });

  testUnless(whyNo("landlock"), "are none with Landlock, where /proc is only read", async () => {
    const fsReadDirs = ["/usr", "/bin", "/lib", "/lib64", "/etc", "/proc"];
    const { out } = await run(new LandlockNativeRunner({ shadowDir, fsReadDirs }), kWalk);
    expect(out).toMatch(/^\d+$/);
  });

  test("of the launcher take nothing", async () => {
    const script = named(kOfAny).map((file) => `(echo 1 > /proc/1/${file}) 2>&1`);
    const results = await run(
      new BubblewrapNativeRunner({ shadowDir, prewarm: 0 }),
      `${script.map((line) => `${line} && echo written`).join("; ")}; echo 60000 > /proc/self/timerslack_ns && echo own`,
    );
    expect(results.out).not.toContain("written");
    if (!isRoot) expect(results.out).toContain("own");
  });

  test("of namespaces are not the host's", async () => {
    const files = named(kOfNamespaces).filter((file) => file.startsWith("sys/kernel/"));
    const host = () => files.map((file) => readFileSync(`/proc/${file}`, "utf8"));
    const before = host().slice(0, -2); // pids come and go
    const all = files.map((file) => `echo 77 2>&1 > /proc/${file}`).join("; ");
    const { stdoutText } = await new BubblewrapNativeRunner({ shadowDir, prewarm: 0 }).exec(
      sh(`(${all}) 2>&1; cat /proc/sys/kernel/msgmni`),
    );
    if (!isRoot) expect(stdoutText).toMatch(/^77$/m);
    expect(host().slice(0, -2)).toEqual(before);
  });
});
