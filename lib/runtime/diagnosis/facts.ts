/** What of this host decides whether a sandbox can work. Read on demand, never cached. */

import { existsSync, readFileSync } from "node:fs";
import { arch, release } from "node:os";

import { type Distribution, parseOsRelease } from "./distribution.js";

/** Settings of the kernel that can forbid user namespaces. */
export const kSysctls = [
  "user.max_user_namespaces",
  "kernel.unprivileged_userns_clone",
  "kernel.apparmor_restrict_unprivileged_userns",
] as const;

export type Sysctl = (typeof kSysctls)[number];

/** A snapshot of the host. */
export type HostFacts = {
  platform: string;
  /** The kernel's release, such as "6.8.0-41-generic". */
  kernel: string;
  arch: string;
  distribution: Distribution;
  /** Undefined where there are no user ids. */
  uid: number | undefined;
  /** Only those that this kernel has. */
  sysctls: Partial<Record<Sysctl, string>>;
  /** The container that this process is in, such as "docker"; undefined outside of one. */
  container: string | undefined;
  /** The kernel's active security modules; undefined where they can't be read. */
  securityModules: readonly string[] | undefined;
  /** The profile of AppArmor that confines this process, enforced; undefined where none does. */
  appArmorProfile: string | undefined;
};

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    return undefined; // not there, or not ours to read
  }
}

function readSysctls(): Partial<Record<Sysctl, string>> {
  const found: Partial<Record<Sysctl, string>> = {};
  for (const name of kSysctls) {
    const value = readText(`/proc/sys/${name.replaceAll(".", "/")}`);
    if (value !== undefined) found[name] = value;
  }
  return found;
}

function detectContainer(): string | undefined {
  if (process.env.KUBERNETES_SERVICE_HOST) return "kubernetes";
  if (existsSync("/run/.containerenv")) return "podman";
  if (existsSync("/.dockerenv")) return "docker";
  const [, kind] =
    /\b(kubepods|docker|lxc|containerd)\b/.exec(readText("/proc/1/cgroup") ?? "") ?? [];
  return kind ?? (process.env.container || undefined); // systemd's convention
}

/** @param label of a process, as in proc_pid_attr(5): "NAME (MODE)"; also "unconfined", or another module's. */
export function enforcedProfile(label: string | undefined): string | undefined {
  return /^(.+) \((?:enforce|kill)\)$/.exec(label ?? "")?.[1];
}

/** Looks at the host this process runs on. */
export function readHostFacts(): HostFacts {
  const osRelease = readText("/etc/os-release") ?? readText("/usr/lib/os-release") ?? "";
  return {
    platform: process.platform,
    kernel: release(),
    arch: arch(),
    distribution: parseOsRelease(osRelease),
    uid: process.getuid?.(),
    sysctls: readSysctls(),
    container: detectContainer(),
    securityModules: readText("/sys/kernel/security/lsm")?.split(","),
    // Before Linux 5.1 there is one label of all modules, which may not be AppArmor's.
    appArmorProfile: enforcedProfile(readText("/proc/self/attr/apparmor/current")),
  };
}
