// As root too: cloned sandboxes keep root's ids and capabilities apart.
/** What clones of one template, at once, have of one another and of the template; each try with a control. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { type BubblewrapNativeRunner, LocalNativeRunner } from "../support/package.js";
import { buildProbe } from "../support/probe.js";
import { describeSandboxed, isRoot } from "../support/requirements.js";
import { run } from "../support/results.js";
import { tempDirectory } from "../support/temp.js";
import { cloning, startOf, templates } from "./cloning-runners.js";

/** `leave` is left by one, which then looks for it as the other does; who finds it says "seen". */
type Trace = { leave: string; look: string };

const kTraces: [name: string, trace: Trace][] = [
  ["a file in /tmp", { leave: "echo > /tmp/f", look: "[ -e /tmp/f ] && echo seen" }],
  ["a file in /dev/shm", { leave: "echo > /dev/shm/f", look: "[ -e /dev/shm/f ] && echo seen" }],
  [
    "a process",
    {
      leave: "sleep 1000 &",
      look: "for d in /proc/[0-9]*; do grep -qsx sleep $d/comm && echo seen; done",
    },
  ],
  ["a terminal", { leave: "exec 5<> /dev/ptmx", look: "[ -e /dev/pts/0 ] && echo seen" }],
  [
    "a segment of shared memory",
    {
      leave: "ipcmk -M 64 > /dev/null",
      look: "[ $(wc -l < /proc/sysvipc/shm) -gt 1 ] && echo seen",
    },
  ],
  [
    "a set of semaphores",
    {
      leave: "ipcmk -S 1 > /dev/null",
      look: "[ $(wc -l < /proc/sysvipc/sem) -gt 1 ] && echo seen",
    },
  ],
  [
    "a message queue",
    {
      leave: "./probe queue make q > /dev/null",
      look: "./probe queue open q | grep -q OK && echo seen",
    },
  ],
  [
    "an abstract socket",
    {
      leave: "./probe listen name & while ! ./probe abstract name | grep -q OK; do :; done",
      look: "./probe abstract name | grep -q OK && echo seen",
    },
  ],
  [
    "a listener",
    {
      leave: "./probe listen 4711 & while ! ./probe tcp 4711 | grep -q OK; do :; done",
      look: "./probe tcp 4711 | grep -q OK && echo seen",
    },
  ],
  [
    "a lock of a file in /tmp",
    {
      leave: "exec 6> /tmp/lock; flock 6",
      look: "exec 7> /tmp/lock; flock -n 7 || echo seen",
    },
  ],
];

/** What they have in common, as all runs of a runner or only as clones. */
const kShared: [name: string, trace: Trace][] = [
  ["the workspace", { leave: "echo > f", look: "[ -e f ] && echo seen" }],
  // Known: the file systems of / and /dev are the template's (docs/prewarming.md).
  [
    "a lock of / itself",
    { leave: "exec 6< /; flock 6", look: "exec 7< /; flock -n 7 || echo seen" },
  ],
  [
    "a lock of /dev itself",
    { leave: "exec 6< /dev; flock 6", look: "exec 7< /dev; flock -n 7 || echo seen" },
  ],
];

/** Bounded: a test that fails doesn't leave the one that waits. */
const until = (file: string) =>
  `i=0; while [ ! -e ${file} ] && [ $i -lt 1500 ]; do sleep 0.02; i=$((i+1)); done`;

describeSandboxed("clones of one template, at once", () => {
  let runner: BubblewrapNativeRunner;
  let workspace = "";
  beforeAll(async () => {
    workspace = tempDirectory();
    buildProbe(workspace);
    runner = await cloning({ shadowDir: workspace });
  });
  afterAll(() => runner?.close());

  let next = 0;
  /** What the one that has left something sees, and one that runs beside it. */
  async function seenOf({ leave, look }: Trace): Promise<[own: string, other: string]> {
    next += 1;
    const [up, go] = [`up.${next}`, `go.${next}`];
    const leaving = run(
      runner,
      `${leave}\n touch ${up}; ${until(go)}; (${look}) 6>&- 7>&- | head -n 1`,
    );
    await run(runner, until(up));
    const other = await run(runner, `(${look}) | head -n 1`);
    writeFileSync(join(workspace, go), "");
    const own = await leaving;
    expect([startOf(own.result), startOf(other.result)]).toEqual(["cloned", "cloned"]);
    expect([own.err, other.err]).toEqual(["", ""]);
    return [own.out, other.out];
  }

  test.each(kTraces)("one does not see of another %s", async (_, trace) => {
    expect(await seenOf(trace)).toEqual(["seen", ""]);
  });

  test.each(kShared)("one does see %s", async (_, trace) => {
    expect(await seenOf(trace)).toEqual(["seen", "seen"]);
  });

  test("each namespace is its own", async () => {
    const script = `echo $$ > n.$1; ${until("all")}; cd /proc/self/ns; for n in *; do readlink $n; done`;
    const running = [1, 2, 3].map((n) => run(runner, ["sh", "-c", script, "sh", String(n)]));
    await run(runner, [1, 2, 3].map((n) => until(`n.${n}`)).join("; "));
    writeFileSync(join(workspace, "all"), "");
    const seen = (await Promise.all(running)).map(({ out }) => out.split("\n"));
    const host = await run(
      new LocalNativeRunner({ shadowDir: workspace }),
      "cd /proc/self/ns; for n in *; do readlink $n; done",
    );
    for (const kind of ["user", "pid", "mnt", "ipc", "uts", "cgroup", "net"]) {
      const ids = [...seen, host.out.split("\n")].map((all) =>
        all.find((id) => id.startsWith(`${kind}:`)),
      );
      expect(ids).not.toContain(undefined);
      expect(new Set(ids).size, kind).toBe(4);
    }
  });

  test("a signal for all that one may signal ends none but itself", async () => {
    const others = [1, 2, 3].map((n) => run(runner, `touch s.${n}; ${until("sent")}; echo whole`));
    await run(runner, [1, 2, 3].map((n) => until(`s.${n}`)).join("; "));
    const before = templates();
    const seen = await run(runner, "sleep 1000 & kill -9 -1; echo went on; jobs -p | wc -l");
    expect(startOf(seen.result)).toBe("cloned");
    expect(seen.out).toMatch(/^went on/);
    writeFileSync(join(workspace, "sent"), "");
    expect((await Promise.all(others)).map(({ out }) => out)).toEqual(Array(3).fill("whole"));
    expect(templates()).toEqual(before);
  });

  test("the first process can't be ended, traced or read from within", async () => {
    const seen = await run(
      runner,
      "kill -9 1; kill -9 1; for f in environ maps fd/0 root cwd exe mem ns/mnt; do head -c1 /proc/1/$f > /dev/null 2>&1 && echo read $f; done; echo up; head -c1 /proc/self/environ > /dev/null && echo control",
    );
    expect(seen).toMatchObject({ kind: "exited", out: "up\ncontrol" });
  });

  test("commands have no capability, nor a way to one", async () => {
    const script = "grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status";
    const seen = await run(runner, script);
    const none = ["Inh", "Prm", "Eff", "Bnd", "Amb"].map((set) => `Cap${set}:\t${"0".repeat(16)}`);
    expect(seen.out.split("\n")).toEqual([...none, "NoNewPrivs:\t1", "Seccomp:\t2"]);
    const control = await run(new LocalNativeRunner({ shadowDir: workspace }), script);
    expect(control.out).not.toContain(none[3]); // what could be regained
  });

  const kMakesNamespaces: [string, string][] = [
    ["unshare -U", "unshare -U true"],
    ["clone3", "./probe call clone3"],
    ["unshare", "./probe call unshare"],
    ["setns", "./probe call setns"],
    ["mount", "./probe call mount"],
    ["umount2", "./probe call umount2"],
    ["sethostname", "./probe call sethostname"],
  ];
  test.each(kMakesNamespaces)("commands have no use of %s", async (_, command) => {
    const seen = await run(runner, `${command} 2>&1 && echo done`);
    expect(startOf(seen.result)).toBe("cloned");
    const answers = seen.out.split("\n").filter((line) => line !== "done");
    expect(answers.join(), seen.out).toMatch(/EPERM|ENOSYS|not permitted|not implemented|No space/);
  });

  const kKernel: [path: string, value: string][] = [
    ["/proc/sys/kernel/hostname", "x"],
    ["/proc/sys/kernel/core_pattern", "x"],
    ["/proc/sys/vm/drop_caches", "0"],
    ["/proc/sys/net/ipv4/ip_forward", "1"],
    ["/proc/sys/user/max_user_namespaces", "100"],
    ...(isRoot ? [["/proc/sys/kernel/shmmax", "1"] as [string, string]] : []), // else its own    ["/proc/sysrq-trigger", ""],
    ["/proc/1/oom_score_adj", "-1000"],
  ];
  test.each(kKernel)("commands can't write to %s", async (path, value) => {
    const seen = await run(runner, `(printf '%s' '${value}' > ${path}) 2>&1 && echo wrote`);
    expect(startOf(seen.result)).toBe("cloned");
    expect(seen.out).toMatch(/Permission denied|Read-only file system|nonexistent|No such file/);
    const control = await run(runner, "(printf 500 > /proc/self/oom_score_adj) 2>&1 && echo wrote");
    expect(control.out).toMatch(isRoot ? /Read-only|wrote/ : /^wrote$/);
  });

  test("mounts can't be taken away, and what is below them is not the template's", async () => {
    const tries = ["/proc", "/tmp", "/dev/shm", "/dev/pts", "/dev", "/workspace"];
    const seen = await run(
      runner,
      `for d in ${tries.join(" ")}; do umount -l $d 2> /dev/null && echo off $d; done; ls /proc/self > /dev/null && echo there`,
    );
    expect(seen.out).toBe("there");
    const own = "unshare -Urm sh -c 'mount -t tmpfs x /tmp && umount -l /tmp && echo off'";
    const control = await run(new LocalNativeRunner({ shadowDir: workspace }), own);
    expect(control.out).toBe("off");
  });

  // Below it lies the template's, which only who has these mounts in his power could uncover.
  test("as root, nothing of /proc may be written", async () => {
    const all = "awk '$5 == \"/proc\" {print substr($6, 1, 3)}' /proc/self/mountinfo";
    const seen = (await run(runner, all)).out.split("\n"); // bwrap's, the template's, its own
    expect(seen).toEqual(isRoot ? ["ro,", "ro,", "ro,"] : ["rw,", "rw,"]);
    if (!isRoot) return; // what is its namespaces' own: as in a new sandbox (same-as-new-sandbox.test.ts)
    const finds = await run(
      runner,
      "find /proc/sys /proc/irq /proc/bus -writable -type f 2> /dev/null",
    );
    expect(finds.out).toBe("");
  });
});
