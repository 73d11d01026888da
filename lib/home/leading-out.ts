/**
 * System files that are links to elsewhere on some hosts: /etc/resolv.conf into /run (systemd-resolved, NetworkManager,
 * WSL), certificates into /var (openSUSE) or /nix (NixOS), /bin/sh on NixOS. In a sandbox that shows only the directory
 * of the link they would dangle.
 */

import { dirname, resolve } from "node:path";
import { below, covers } from "../paths.js";
import type { HostLook } from "./host-look.js";
import type { Shown } from "./host-tools.js";

/** Looked at only where commands have the host's network; else there is another one, or none that could be asked. */
const kResolver = "/etc/resolv.conf";

const kFiles: readonly string[] = [
  "/bin/sh",
  "/etc/group",
  "/etc/hosts",
  "/etc/localtime",
  "/etc/nsswitch.conf",
  "/etc/os-release",
  "/etc/passwd",
  "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
  "/etc/pki/tls/certs/ca-bundle.crt",
  "/etc/ssl/ca-bundle.pem",
  "/etc/ssl/cert.pem",
  "/etc/ssl/certs/ca-certificates.crt",
  "/etc/ssl/openssl.cnf",
  "/usr/bin/env",
];
const kDirectories: readonly string[] = ["/etc/ssl/certs", "/usr/share/zoneinfo"];

/** Its files need each other, and it holds nothing but packages. */
const kStore = "/nix/store";
const kMostLinks = 40;

/** The links to follow, and the paths that the sandbox has already. */
export type LinkSearch = {
  files: readonly string[];
  /** Links that may lead to a directory. */
  directories: readonly string[];
  /** Paths that the sandbox shows at the same place. */
  bound: readonly string[];
  /** Paths where nothing of the host can be shown: file systems of the sandbox's own, homes. */
  taken: readonly string[];
};

/** The usual paths. `hasNetwork`: commands have the host's. */
export function systemLinks(hasNetwork: boolean): Pick<LinkSearch, "files" | "directories"> {
  return { files: hasNetwork ? [kResolver, ...kFiles] : kFiles, directories: kDirectories };
}

/** Follows `path` as programs inside do. Returns where it leaves what is bound; undefined: nowhere. */
function leavesAt(path: string, look: HostLook, bound: readonly string[]): string | undefined {
  const toGo = path.split("/").filter((part) => part !== "");
  let at = "/";
  for (let links = 0; toGo.length > 0; ) {
    const next = below(at, toGo.shift() as string);
    const isInside = bound.some((each) => covers(each, next));
    if (!isInside && !bound.some((each) => covers(next, each))) {
      return links === 0 ? undefined : resolve(next, ...toGo);
    }
    const text = look.linkText(next);
    if (text === undefined) {
      at = next;
      continue;
    }
    links += 1;
    if (links > kMostLinks) return undefined;
    const whole = resolve(at, text, ...toGo);
    toGo.splice(0, toGo.length, ...whole.split("/").filter((part) => part !== ""));
    at = "/";
  }
  return undefined;
}

/** True if only root or we can say where the link leads. */
function isTrusted(path: string, look: HostLook): boolean {
  const directory = look.real(dirname(path));
  return directory !== undefined && look.unsafe(directory) === undefined;
}

/** Returns the paths to show, read-only, so that these links lead somewhere. Never throws. */
export function leadingOut(search: LinkSearch, look: HostLook): Shown[] {
  const { files, directories, bound, taken } = search;
  const shown = new Map<string, string>();
  for (const path of [...directories, ...files]) {
    if (!isTrusted(path, look)) continue;
    const target = leavesAt(path, look, bound);
    const source = target === undefined ? undefined : look.real(target);
    if (target === undefined || source === undefined) continue;
    if (covers(kStore, source)) {
      shown.set(kStore, kStore);
      // A link outside of the store leads to it.
      if (covers(kStore, target)) continue;
    }
    const isWanted = look.isDirectory(source)
      ? directories.includes(path) && source !== "/"
      : look.status(source)?.isFile() === true;
    const meets = [...taken, ...bound].some((each) => covers(target, each));
    const isTaken = meets || taken.some((each) => covers(each, target) || covers(each, source));
    const isShown = [...shown.keys()].some((each) => covers(each, target));
    if (isWanted && !isTaken && !isShown) shown.set(target, source);
  }
  return [...shown].map(([target, source]) => ({ source, target }));
}

/**
 * The paths whose states decide what is shown: what links lead to, and the directories in which files may become links,
 * which are fewer than the files.
 */
export function pathsOf({ files, directories }: LinkSearch, look: HostLook): string[] {
  const paths = new Set<string>();
  for (const path of [...files, ...directories]) {
    if (look.linkText(path) !== undefined) paths.add(path);
    let above = dirname(path);
    while (!look.exists(above) && above !== "/") above = dirname(above);
    paths.add(above);
  }
  return [...paths];
}
