/** Facts about this host that decide if a sandbox can work. Read on demand, never cached. */

import { existsSync, readFileSync } from "node:fs";
import { arch, release } from "node:os";

/** A snapshot of the host. */
export type HostFacts = {
  platform: string;
  /** The kernel's release, such as "6.8.0-41-generic". */
  kernel: string;
  arch: string;
  distribution: Distribution;
  /** Undefined if the platform has no user ids. */
  uid: number | undefined;
  /** The container that this process is in, such as "docker"; undefined outside of one. */
  container: string | undefined;
  /** The kernel's active security modules; undefined if they can't be read. */
  securityModules: readonly string[] | undefined;
  /** The enforced AppArmor profile that confines this process; undefined if there is none. */
  appArmorProfile: string | undefined;
};

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    return undefined; // missing or not readable
  }
}

function detectContainer(): string | undefined {
  if (process.env.KUBERNETES_SERVICE_HOST) return "kubernetes";
  if (existsSync("/run/.containerenv")) return "podman";
  if (existsSync("/.dockerenv")) return "docker";
  const [, kind] =
    /\b(kubepods|docker|lxc|containerd)\b/.exec(readText("/proc/1/cgroup") ?? "") ?? [];
  return kind ?? (process.env.container || undefined); // systemd's convention
}

/**
 * @param label of a process, as in proc_pid_attr(5): "NAME (MODE)"; also "unconfined", or the label of
 * another module.
 */
export function enforcedProfile(label: string | undefined): string | undefined {
  return /^(.+) \((?:enforce|kill)\)$/.exec(label ?? "")?.[1];
}

/** Reads the facts about the host that this process runs on. */
export function readHostFacts(): HostFacts {
  const osRelease = readText("/etc/os-release") ?? readText("/usr/lib/os-release") ?? "";
  return {
    platform: process.platform,
    kernel: release(),
    arch: arch(),
    distribution: parseOsRelease(osRelease),
    uid: process.getuid?.(),
    container: detectContainer(),
    securityModules: readText("/sys/kernel/security/lsm")?.split(","),
    // Before Linux 5.1 all modules share one label, which may not be AppArmor's.
    appArmorProfile: enforcedProfile(readText("/proc/self/attr/apparmor/current")),
  };
}

/** Identifies the Linux distribution and its package installation command. Pure. */

/** The contents of /etc/os-release. */
type Distribution = {
  /** The distribution, such as "ubuntu", followed by those it derives from, nearest first. */
  ids: readonly string[];
  /** Such as "24.04"; "" if not given. */
  version: string;
  /** Display name. */
  name: string;
};

const kInstallers: readonly (readonly [ids: RegExp, command: string])[] = [
  [/^(debian|ubuntu)$/, "apt-get install"],
  [/^(fedora|rhel|centos)$/, "dnf install"],
  [/^arch$/, "pacman -S"],
  [/^alpine$/, "apk add"],
  [/^(suse|opensuse.*|sles)$/, "zypper install"],
];

/** Parses os-release(5). */
export function parseOsRelease(text: string): Distribution {
  const fields = new Map<string, string>();
  for (const line of text.split("\n")) {
    const [, name, value] = /^\s*([A-Z_]+)=(.*?)\s*$/.exec(line) ?? [];
    if (name !== undefined && value !== undefined) {
      fields.set(name, value.replace(/^(["'])(.*)\1$/, "$2").replace(/\\(.)/g, "$1"));
    }
  }
  const ids = [fields.get("ID") ?? "linux", ...(fields.get("ID_LIKE") ?? "").split(/\s+/)];
  return {
    ids: ids.filter((id) => id !== ""),
    version: fields.get("VERSION_ID") ?? "",
    name: fields.get("PRETTY_NAME") ?? fields.get("NAME") ?? "Linux",
  };
}

/** Returns the command line that installs a package, or a description if the distribution is unknown. */
export function installCommand(distribution: Distribution, name: string): string {
  for (const id of distribution.ids) {
    const found = kInstallers.find(([ids]) => ids.test(id));
    if (found) return `install it: ${found[1]} ${name}`;
  }
  return `install the package ${name} with your distribution's package manager`;
}

/** Lists features that a bwrap lacks, from the options that its --help omits. Pure. */

/** An option that a bwrap lacks, and the resulting limitation. */
export type MissingOption = { option: string; consequence: string };

/**
 * Corresponds to the native side's `BwrapFeatures`. Without --as-pid-1 bwrap is unusable as a runtime, which
 * its own reason and fix report.
 */
const kOptions: readonly MissingOption[] = [
  {
    option: "--bind-fd",
    consequence: "no prewarmed or cloned sandboxes, and no transactions by overlay",
  },
  {
    option: "--disable-userns",
    consequence: "no layer userns-disabled; seccomp refuses them",
  },
  { option: "--perms", consequence: "procBind: false is refused" },
  { option: "--size", consequence: "memoryBytes does not bound what /tmp holds" },
];

/** @param help output of `bwrap --help`: distributions back-port options, so the version is not decisive. */
export function missingBwrapOptions(help: string): MissingOption[] {
  const words = new Set(help.split(/\s+/));
  return kOptions.filter(({ option }) => !words.has(option));
}
