/** Promise 2: a command writes only in the workspace and the private /tmp, as root too. */

import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";

import type { Seen } from "../support/results.js";
import type { PromiseName } from "./matrix.js";
import { bindsWith, kProbe, type Scene } from "./probed-host.js";
import { type Promised, says } from "./promise.js";

const kNo = ["EROFS", "EACCES", "EPERM", "ENOENT", "ETXTBSY"];

/** A name that nothing has yet. */
const fresh = (): string => `made-${process.hrtime.bigint()}`;

/** The same probe in the workspace, where it may. */
function createsFile(name: string, place: (scene: Scene) => string): Promised {
  const path = (scene: Scene): string => join(place(scene), "native-runner-probe");
  return {
    promise: "write-outside",
    name: `makes a file in ${name}`,
    command: (scene, isControl) => [
      kProbe,
      "create",
      isControl ? join(scene.inside, fresh()) : path(scene),
    ],
    kept: (seen, scene) => {
      const made = existsSync(path(scene));
      if (made) rmSync(path(scene));
      says(...kNo)(seen);
      expect(made).toBe(false);
    },
    control: "inside",
    reached: says("OK"),
  };
}

/** Opens and writes nothing, so that root can try it on the host as well. */
function opensForWriting(path: string): Promised {
  return {
    promise: "write-outside",
    name: `opens ${path} for writing`,
    command: () => [kProbe, "open-write", path],
    kept: says(...kNo),
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
  "/usr/bin/tsort", // one that nobody runs meanwhile: that would be ETXTBSY on the host too
].filter((path) => existsSync(path));

/** What may be done to a file that is one's own, even where it can only be read. */
function changesFile(promise: PromiseName, name: string, ...probe: string[]): Promised {
  return {
    promise,
    name: `${name} of a file that it may only read`,
    policy: (scene) => ({ roBinds: bindsWith(scene.outside) }),
    command: (scene) => [kProbe, ...probe, scene.secrets.outside],
    kept: says("EROFS", "EACCES"),
    control: "local",
    reached: says("OK"),
  };
}

/** A call that the same user may make where capabilities are left; harmless even on the host. */
function callsAs(
  name: string,
  command: readonly string[],
  reached: (seen: Seen) => void,
): Promised {
  return {
    promise: "no-privileges",
    name,
    command: () => [kProbe, ...command],
    kept: says("EPERM"),
    control: "loose",
    reached,
  };
}

const statusOf = (key: string, seen: Seen): string | undefined =>
  new RegExp(`^${key}:\\s*(.*)$`, "m").exec(seen.out)?.[1];

const kCapabilitySets = ["CapInh", "CapPrm", "CapEff", "CapAmb"];

/** A file of the host's /tmp. */
const inTmp = (scene: Scene): string => join("/tmp", scene.workspace.replaceAll("/", "-"));

export function writeRows(): Promised[] {
  return [
    createsFile("the root", () => "/"),
    createsFile("/usr", () => "/usr"),
    createsFile("/etc", () => "/etc"),
    createsFile("/dev", () => "/dev"),
    createsFile("/proc", () => "/proc"),
    createsFile("the directory that holds the workspace", ({ inside }) => join(inside, "..")),
    ...kKernelFiles.map(opensForWriting),
    {
      promise: "write-outside",
      name: "makes a file in a directory that is mounted read-only",
      policy: (scene) => ({ roBinds: bindsWith(scene.outside) }),
      command: (scene, isControl) => [kProbe, "create", `${scene.outside}/made-${isControl}`],
      kept: says("EROFS", "EACCES"),
      control: "local",
      reached: says("OK"),
    },
    {
      promise: "write-outside",
      name: "changes a file through /proc/self/root",
      policy: (scene) => ({ roBinds: bindsWith(scene.outside) }),
      command: (scene) => [kProbe, "open-write", `/proc/self/root${scene.secrets.outside}`],
      kept: says("EROFS", "EACCES"),
      control: "local",
      reached: says("OK"),
    },
    changesFile("truncate-outside", "cuts the end", "truncate"),
    changesFile("change-outside", "changes the mode", "chmod"),
    changesFile("change-outside", "changes the times", "touch"),
    {
      promise: "write-outside",
      name: "overwrites the program that is process 1",
      command: (scene, isControl) => [
        kProbe,
        "open-write",
        isControl ? scene.inside : "/proc/1/exe",
      ],
      kept: says("EACCES", "ETXTBSY", "EPERM", "EROFS"),
      control: "inside",
      reached: says("EISDIR"),
    },
    {
      promise: "private-tmp",
      name: "leaves files in the host's /tmp",
      command: (scene) => `echo x > ${inTmp(scene)} && cat ${inTmp(scene)}`,
      kept: (seen, scene) => {
        expect(seen).toMatchObject({ out: "x", exitCode: 0 });
        const left = existsSync(inTmp(scene));
        rmSync(inTmp(scene), { force: true });
        expect(left).toBe(false);
      },
      control: "local",
      reached: (seen, scene) => {
        expect(seen.out).toBe("x");
        rmSync(inTmp(scene), { force: true });
      },
    },
    {
      promise: "no-privileges",
      name: "makes a read-only mount writable",
      policy: (scene) => ({ roBinds: bindsWith(scene.outside) }),
      command: (scene, isControl) => [kProbe, "remount", isControl ? "/" : scene.outside],
      kept: says("EPERM"),
      control: "loose",
      reached: says("OK"),
    },
    callsAs("mounts", ["call", "mount", "none", "mnt", "tmpfs", "0", "0"], says("OK")),
    callsAs("unmounts", ["call", "umount2", ".", "2"], says("OK")),
    callsAs("changes the root", ["call", "chroot", "/usr"], says("OK")),
    // One byte too long: who may set it is asked first.
    callsAs("sets the host's name", ["call", "sethostname", "other", "65"], says("EINVAL")),
    callsAs("unshares a user namespace", ["call", "unshare", "0x10000000"], says("OK")),
    {
      promise: "no-privileges",
      name: "makes a device node",
      command: ({ inside, outside }, isControl) => [
        kProbe,
        "mknod",
        join(isControl ? outside : inside, fresh()),
        "char",
      ],
      kept: says("EPERM"),
      control: "local",
      reached: says("OK"),
      onlyAsRoot: true,
    },
    {
      promise: "no-privileges",
      name: "makes a block device, while a fifo is fine",
      command: ({ inside }, isControl) => [
        kProbe,
        "mknod",
        join(inside, fresh()),
        isControl ? "fifo" : "block",
      ],
      kept: says("EPERM"),
      control: "inside",
      reached: says("OK"),
    },
    {
      promise: "no-privileges",
      name: "has a capability, or a way to one",
      command: () => [kProbe, "rights"],
      kept: (seen) => {
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
  ];
}
