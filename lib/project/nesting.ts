/** Detects if this process is itself in a sandbox or a container. */

import { existsSync, readFileSync, readlinkSync } from "node:fs";

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return ""; // missing or not readable
  }
}

/** Inode numbers of a kernel's initial namespaces: include/linux/proc_ns.h, since Linux 3.8. */
const kFirstNamespaces = [
  ["pid", "pid:[4026531836]"],
  ["user", "user:[4026531837]"],
] as const;

function namespaceSigns(): string[] {
  return kFirstNamespaces.flatMap(([name, first]) => {
    try {
      const own = readlinkSync(`/proc/self/ns/${name}`);
      return own === first ? [] : [`a ${name} namespace of its own`];
    } catch {
      return [];
    }
  });
}

/**
 * Parses proc_pid_mountinfo(5): the 4th field is the mounted root, the 5th the mount point; the type follows
 * " - ".
 */
export function mountSigns(mountinfo: string): string[] {
  const lines = mountinfo.split("\n").map((line) => line.split(" "));
  const roots = lines.filter((fields) => fields[4] === "/");
  if (roots.some((fields) => fields[3] === "/newroot")) return ["a root directory that bwrap made"];
  const root = roots.at(-1);
  return root?.[root.indexOf("-") + 1] === "overlay" ? ["an overlay as root directory"] : [];
}

function parentSigns(): string[] {
  const names = ["/proc/1/comm", `/proc/${process.ppid}/comm`].map((path) => read(path).trim());
  return names.includes("bwrap") ? ["bwrap as parent"] : [];
}

function containerSigns(): string[] {
  const signs: string[] = [];
  if (!existsSync("/proc/self")) signs.push("no /proc");
  if (existsSync("/.dockerenv")) signs.push("/.dockerenv");
  if (existsSync("/run/.containerenv")) signs.push("/run/.containerenv");
  if (process.env.container) signs.push(`container=${process.env.container}`);
  if (process.env.KUBERNETES_SERVICE_HOST) signs.push("KUBERNETES_SERVICE_HOST");
  return signs;
}

/** Returns the signs that this process is in a sandbox or container, for people; empty if none are found. */
export function nestingSigns(): string[] {
  if (process.platform !== "linux") return [];
  return [
    ...namespaceSigns(),
    ...mountSigns(read("/proc/self/mountinfo")),
    ...parentSigns(),
    ...containerSigns(),
  ];
}

/**
 * True if this process is already inside bwrap or another container, judged by its namespaces, mount table,
 * parent, /.dockerenv, /run/.containerenv and the variable `container`. This does not tell what is possible
 * there; only trying does: see `Bwrap` and `native-runner doctor`.
 */
export function isNested(): boolean {
  return nestingSigns().length > 0;
}

/** The fix if /proc is missing. */
export const kMountProc =
  "let the outer sandbox mount a /proc of its own: `bwrap --unshare-pid --proc /proc`";
