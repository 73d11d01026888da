/** Promise 2: a command writes only in the workspace and the private /tmp, as root too. */

import { existsSync, readFileSync, readlinkSync } from "node:fs";
import { expect } from "vitest";

import type { Seen } from "../support/seen.js";
import { type Promised, says } from "./promise.js";
import { bindsWith, kProbe } from "./scene.js";

const kNo = ["EROFS", "EACCES", "EPERM", "ENOENT", "ETXTBSY"];

/** The same probe in the workspace, where it may. */
function createsFile(name: string, path: string): Promised {
  let count = 0;
  return {
    name: `makes a file in ${name}`,
    command: (_, isControl) => {
      count += 1;
      return [
        kProbe,
        "create",
        isControl ? `/workspace/made-${process.hrtime.bigint()}-${count}` : path,
      ];
    },
    refused: (seen) => {
      says(...kNo)(seen);
      expect(existsSync(path)).toBe(false);
    },
    control: "inside",
    reached: says("OK"),
  };
}

/** Opens and writes nothing, so that root can try it on the host as well. */
function opensForWriting(path: string): Promised {
  return {
    name: `opens ${path} for writing`,
    command: () => [kProbe, "open-write", path],
    refused: says(...kNo),
    control: "local",
    reached: says("OK"),
    onlyAsRoot: true,
  };
}

const kKernelFiles = [
  "/proc/sysrq-trigger",
  "/proc/sys/kernel/core_pattern",
  "/proc/sys/kernel/hostname",
  "/proc/sys/kernel/modprobe",
  "/proc/sys/vm/drop_caches",
  "/proc/sys/net/ipv4/ip_forward",
  "/proc/irq/default_smp_affinity",
  "/sys/kernel/mm/transparent_hugepage/enabled",
  "/sys/power/state",
  "/etc/passwd",
  "/usr/bin/env",
].filter((path) => existsSync(path));

/** A call that the same user may make where capabilities are left. */
function callsAs(
  name: string,
  command: readonly string[],
  reached: (seen: Seen) => void,
): Promised {
  return {
    name,
    command: () => [kProbe, ...command],
    refused: says("EPERM"),
    control: "loose",
    reached,
  };
}

const statusOf = (key: string, seen: Seen): string | undefined =>
  new RegExp(`^${key}:\\s*(.*)$`, "m").exec(seen.out)?.[1];

const kCapabilitySets = ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"];
const kNamespaces = ["user", "pid", "ipc", "uts", "cgroup", "mnt"];
const kShowNamespaces = `for n in ${kNamespaces.join(" ")}; do readlink /proc/self/ns/$n; done`;

const hostNamespaces = (): string[] =>
  kNamespaces.map((name) => readlinkSync(`/proc/self/ns/${name}`));

export function writeRows(): Promised[] {
  return [
    createsFile("the root", "/native-runner-probe"),
    createsFile("/usr", "/usr/native-runner-probe"),
    createsFile("/etc", "/etc/native-runner-probe"),
    createsFile("/dev", "/dev/native-runner-probe"),
    createsFile("/proc", "/proc/native-runner-probe"),
    createsFile("a directory beside the workspace", "/workspace/../native-runner-probe"),
    ...kKernelFiles.map(opensForWriting),
    {
      name: "makes a file in a directory that is mounted read-only",
      policy: (scene) => ({ roBinds: bindsWith(scene.outside) }),
      command: (scene, isControl) => [kProbe, "create", `${scene.outside}/made-${isControl}`],
      refused: says("EROFS"),
      control: "local",
      reached: says("OK"),
    },
    {
      name: "changes a file through /proc/self/root",
      policy: (scene) => ({ roBinds: bindsWith(scene.outside) }),
      command: (scene) => [kProbe, "open-write", `/proc/self/root${scene.secrets.outside}`],
      refused: says("EROFS"),
      control: "local",
      reached: says("OK"),
    },
    {
      name: "overwrites the program that is process 1",
      command: (_, isControl) => [kProbe, "open-write", isControl ? "/workspace" : "/proc/1/exe"],
      refused: says("EACCES", "ETXTBSY", "EPERM", "EROFS"),
      control: "inside",
      reached: says("EISDIR"),
    },
    {
      name: "leaves files in /tmp for the next run",
      command: (_, isControl) =>
        isControl ? "echo x > /tmp/kept && ls /tmp" : "ls -A /tmp; echo x > /tmp/kept",
      refused: (seen) => {
        expect(seen).toMatchObject({ out: "", exitCode: 0 });
        expect(existsSync("/tmp/kept")).toBe(false);
      },
      control: "inside",
      reached: (seen) => expect(seen.out).toBe("kept"),
    },
    {
      name: "makes a read-only mount writable",
      command: (_, isControl) => [kProbe, "remount", isControl ? "/" : "/usr"],
      refused: says("EPERM"),
      control: "loose",
      reached: says("OK"),
    },
    callsAs("mounts", ["call", "mount", "none", "/tmp", "tmpfs", "0", "0"], says("OK")),
    callsAs("unmounts", ["call", "umount2", "/proc", "2"], says("OK")),
    callsAs("changes the root", ["call", "chroot", "/usr"], says("OK")),
    callsAs("sets the host's name", ["call", "sethostname", "other", "5"], says("OK")),
    callsAs("unshares a user namespace", ["call", "unshare", "0x10000000"], says("OK")),
    {
      name: "makes a device node",
      command: (scene, isControl) => [
        kProbe,
        "mknod",
        isControl ? `${scene.outside}/null` : "/workspace/null",
        "char",
      ],
      refused: says("EPERM"),
      control: "local",
      reached: says("OK"),
      onlyAsRoot: true,
    },
    {
      name: "makes a block device, while a fifo is fine",
      command: (_, isControl) => [kProbe, "mknod", `/tmp/node`, isControl ? "fifo" : "block"],
      refused: says("EPERM"),
      control: "inside",
      reached: says("OK"),
    },
    {
      name: "has a capability, or a way to one",
      command: () => "cat /proc/self/status",
      refused: (seen) => {
        for (const set of kCapabilitySets)
          expect([set, statusOf(set, seen)]).toEqual([set, "0000000000000000"]);
        expect(statusOf("NoNewPrivs", seen)).toBe("1");
        expect(statusOf("Seccomp", seen)).toBe("2");
      },
      control: "local",
      reached: (seen) => {
        const own = { ...seen, out: readFileSync("/proc/self/status", "utf8") };
        for (const key of [...kCapabilitySets, "NoNewPrivs", "Seccomp"]) {
          expect([key, statusOf(key, seen)]).toEqual([key, statusOf(key, own)]);
        }
      },
    },
    {
      name: "shares a namespace with the host",
      command: () => kShowNamespaces,
      refused: (seen) => {
        const inside = seen.out.split("\n");
        expect(inside).toHaveLength(kNamespaces.length);
        expect(inside.filter((name) => hostNamespaces().includes(name))).toEqual([]);
      },
      control: "local",
      reached: (seen) => expect(seen.out.split("\n")).toEqual(hostNamespaces()),
    },
  ];
}
