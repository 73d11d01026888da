// As root too: cloned sandboxes keep root's ids and capabilities apart.
/** A clone is what a new sandbox is: each kind of run ends alike in both, and sees the same. */

import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { bindsWith } from "../promises/probed-host.js";
import { kKindsOfRuns, prepared, sh } from "../support/kinds-of-runs.js";
import {
  BubblewrapNativeRunner,
  type BubblewrapNativeRunnerOptions,
  type NativeExecInput,
  type SandboxedExecResult,
} from "../support/package.js";
import { describeSandboxed } from "../support/requirements.js";
import { text } from "../support/results.js";
import { tempDirectory } from "../support/temp.js";
import { cloning, startOf } from "./cloning-runners.js";

type Policy = Partial<BubblewrapNativeRunnerOptions>;

/** A result without what is measured, and without where its sandbox came from. */
function comparable({ usage, stdout, stderr, audits, ...rest }: SandboxedExecResult): unknown {
  const records = audits.map(
    ({ durationMs, usage: used, timing, start, namespaces, ...record }) => {
      expect(used).toEqual(usage);
      const { setupMs, commandMs, teardownMs } = timing;
      expect(setupMs + commandMs + teardownMs).toBeCloseTo(durationMs, 2);
      return { ...record, parts: Object.values(timing).map((part) => part > 0) };
    },
  );
  return { ...rest, stdout: text(stdout), stderr: text(stderr), audits: records };
}

async function both(input: NativeExecInput, policy: Policy = {}): Promise<void> {
  const shadowDir = prepared();
  const cold = new BubblewrapNativeRunner({ shadowDir, ...policy, prewarm: 0, clone: "never" });
  const expected = await cold.exec(input);
  rmSync(join(shadowDir, "file"), { force: true });
  const runner = await cloning({ shadowDir, ...policy });
  const result = await runner.exec(input);
  await runner.close();
  expect([startOf(expected), startOf(result)]).toEqual(["cold", "cloned"]);
  expect(comparable(result)).toEqual(comparable(expected));
}

const kPolicies: [string, Policy][] = [
  ["with the network", { network: "allow" }],
  ["with named binds", { roBinds: bindsWith() }],
  ["with required layers", { required: ["seccomp", "pid-namespace", "user-namespace"] }],
  ["without /dev", { devBind: false }],
  ["with Landlock besides", { layers: ["landlock"] }],
  ["with a workspace that may not be written", { allowWriteWorkspace: false }],
  ["with a clean environment", { envPolicy: "clean" }],
];

/** Fields of /proc/self/status that are numbers of this one process. */
const kOwn = "^(Vm|Rss|Huge|Tgid|Ngid|Pid|PPid|NStgid|NSpid|NSpgid|NSsid|SigQ|.*ctxt_switches)";

/** What a command can see of where it is; each is printed and compared by itself. */
const kViews: [name: string, script: string][] = [
  ["who it is", "id; cat /proc/self/loginuid; cat /proc/self/setgroups"],
  ["its status", `grep -vE '${kOwn}' /proc/self/status`],
  ["its numbers", "echo $$ $PPID; cut -d' ' -f1,2,4-8 /proc/$$/stat"],
  ["how deep its namespaces are", "grep -E '^NS' /proc/self/status | awk '{print NF}'"],
  ["its environment", "env -u _ | sort"],
  ["its directory and umask", "pwd; readlink /proc/self/cwd; readlink /proc/self/root; umask"],
  ["its limits", "ulimit -a; cat /proc/self/limits; nice; cat /proc/self/oom_score_adj"],
  ["its descriptors", "ls /proc/self/fd; cat /proc/self/fdinfo/1 | grep -E '^flags'"],
  ["the names of its machine", "hostname; cat /proc/sys/kernel/domainname; uname -srm"],
  ["its control group", "cat /proc/self/cgroup"],
  ["who else runs", "for d in /proc/[0-9]*; do cat $d/comm; done; tr '\\0' ' ' < /proc/1/cmdline"],
  [
    "what it may not read of the first process",
    "ls -l /proc/1/ 2>&1 | awk '{print $1, $3, $4, $NF}' | grep -v ' [0-9]*$' | sort; head -c 9 /proc/1/environ; ls /proc/1/fd",
  ],
  [
    "files",
    "stat -c '%A %u %g %F %t:%T %N' / /* /dev/* /dev/.[a-z]* * /tmp /dev/shm/* /dev/pts/* /proc 2>&1",
  ],
  [
    "where it may write",
    "for d in / /* /dev/shm /dev/pts /proc/sys /proc/1; do [ -w $d ] && echo $d; done; true",
  ],
  ["empty places", "ls -A /tmp /dev/shm /var /run 2>&1"],
  [
    "the sizes of its file systems",
    "stat -f -c '%n %T %S' / /tmp /dev /dev/shm /dev/pts /proc /workspace; stat -f -c '%b' /tmp /dev/shm",
  ],
  ["network", "cat /proc/net/dev | cut -d: -f1; cat /proc/net/route; head -n 1 /proc/net/unix"],
  [
    "devices work",
    "echo x > /dev/null; head -c 3 /dev/zero | wc -c; head -c 3 /dev/urandom | wc -c; exec 3<> /dev/ptmx && ls /dev/pts; stat -c %t:%T /dev/pts/ptmx",
  ],
  [
    "which settings of the kernel are its own",
    "find /proc/sys /proc/irq /proc/bus -writable -type f 2> /dev/null | sort",
  ],
  [
    "what may be set",
    "for f in /proc/sys/kernel/hostname /proc/sys/net/ipv4/ip_forward /proc/self/oom_score_adj /proc/self/uid_map; do [ -w $f ] && echo $f; done; true",
  ],
  [
    "how many user namespaces there may be",
    "cat /proc/sys/user/max_user_namespaces; unshare -U true 2>&1",
  ],
  [
    "its mounts",
    "awk '{top[$5] = $6 \" \" $4} END {for (each in top) print each, top[each]}' /proc/self/mountinfo | sort",
  ],
  [
    "the kinds of its file systems",
    "sed 's/.* - //' /proc/self/mountinfo | cut -d' ' -f1 | sort -u",
  ],
];

describeSandboxed("a run in a clone", () => {
  test.each(kKindsOfRuns)("ends as one in a new sandbox does: %s", async (_, input) => both(input));

  test.each(kPolicies)("ends as one in a new sandbox does: %s", async (_, policy) => {
    await both(sh("ls -A / /dev; ls; env | sort; exit 5"), policy);
  });

  test("streams, and has a callback's error", async () => {
    const runner = await cloning({ shadowDir: tempDirectory() });
    const chunks: string[] = [];
    const onStdout = (chunk: Uint8Array) => void chunks.push(text(chunk));
    const result = await runner.exec({ ...sh("echo one; sleep 0.2; echo two"), onStdout });
    expect([startOf(result), chunks]).toEqual(["cloned", ["one\n", "two\n"]]);
    const failing = runner.exec({
      ...sh("echo one; sleep 1000"),
      onStdout: () => {
        throw new Error("enough");
      },
    });
    await expect(failing).rejects.toThrow("enough");
    await runner.close();
  });
});

/** What differs, and why that is no matter. */
const kDiffers: Record<string, (seen: string) => string> = {
  // None may be made in either: here it is the namespace's own limit, there that of the one around it.
  "how many user namespaces there may be": (seen) => seen.replace(/^(0|2147483647)\n/, ""),
};

describeSandboxed("a command in a clone sees what it would in a new sandbox", () => {
  const views = kViews.map(([name, script]) => `echo; echo '== ${name}'; (${script})`).join("\n");

  function viewsOf({ stdout }: SandboxedExecResult): Record<string, string> {
    const parts = text(stdout).split(/^== /m).slice(1);
    return Object.fromEntries(
      parts.map((part) => {
        const end = part.indexOf("\n");
        const name = part.slice(0, end);
        const plain = kDiffers[name] ?? ((seen: string) => seen);
        return [name, plain(part.slice(end + 1))];
      }),
    );
  }

  test.each([
    ["alone", {}],
    ["with the network", { network: "allow" }],
    ["without /dev", { devBind: false }],
  ] as [string, Policy][])("%s", async (_, policy) => {
    const shadowDir = prepared();
    const cold = new BubblewrapNativeRunner({ shadowDir, ...policy, prewarm: 0, clone: "never" });
    const runner = await cloning({ shadowDir, ...policy });
    const expected = await cold.exec(sh(views));
    const seen = await runner.exec(sh(views));
    const again = await runner.exec(sh(views));
    await runner.close();
    expect([expected, seen, again].map(startOf)).toEqual(["cold", "cloned", "cloned"]);
    expect(Object.keys(viewsOf(expected))).toEqual(kViews.map(([name]) => name));
    expect(viewsOf(seen)).toEqual(viewsOf(expected));
    expect(viewsOf(again)).toEqual(viewsOf(expected));
    expect(text(seen.stderr)).toBe(text(expected.stderr));
  });

  test("but for the size of /tmp, which is each run's own", async () => {
    const runner = await cloning({ shadowDir: tempDirectory() });
    const size = sh("stat -f -c '%b*%S' /tmp");
    const limits = (mebibytes: number) => ({ memoryBytes: mebibytes << 20 });
    const results = [];
    for (const mebibytes of [64, 128, 64])
      results.push(await runner.exec({ ...size, limits: limits(mebibytes) }));
    const never = new BubblewrapNativeRunner({ shadowDir: tempDirectory(), clone: "never" });
    const expected = [];
    for (const mebibytes of [64, 128, 64])
      expected.push(await never.exec({ ...size, limits: limits(mebibytes) }));
    const seen = (all: SandboxedExecResult[]) => all.map(({ stdoutText }) => stdoutText);
    expect(seen(results)).toEqual(seen(expected));
    expect(new Set(seen(results)).size).toBe(2);
    await Promise.all([runner.close(), never.close()]);
    expect(results.map(startOf)).toEqual(["cloned", "cloned", "cloned"]);
  });
});
