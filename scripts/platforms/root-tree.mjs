// The root file system of an emulated machine or a container: packages of a Debian suite, unpacked. No
// script of theirs has run, so what those would have made, and tests need, is made here.
import {
  appendFileSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { DebianSuite } from "./debian-suite.mjs";

const kSuite = "trixie";
const kPackages = [
  ["base-files", "base-passwd", "bash", "dash", "coreutils", "findutils", "grep", "sed", "tar"],
  ["gzip", "libc-bin", "mawk", "mount", "util-linux", "procps", "iproute2", "python3", "git"],
  ["nodejs", "bubblewrap", "apparmor", "systemd"],
].flat();

const kUser = 1000;

const made = new Map();

/** @returns the directory, which is the same for all and must not be written to. */
export function rootTree(arch) {
  if (!made.has(arch)) made.set(arch, makeTree(arch));
  return made.get(arch);
}

function makeTree(arch) {
  const tree = new DebianSuite(kSuite, arch).treeOf("machine", kPackages);
  const at = (...parts) => path.join(tree, ...parts);
  for (const name of ["passwd", "group"]) {
    copyFileSync(at("usr/share/base-passwd", `${name}.master`), at("etc", name));
  }
  appendFileSync(at("etc/passwd"), `user:x:${kUser}:${kUser}::/home/user:/bin/bash\n`);
  appendFileSync(at("etc/group"), `user:x:${kUser}:\n`);
  writeFileSync(at("etc/hosts"), "127.0.0.1 localhost\n::1 localhost\n");
  writeFileSync(at("etc/hostname"), "machine\n");
  writeFileSync(at("etc/resolv.conf"), "nameserver 127.0.0.1\n");
  writeFileSync(at("etc/nsswitch.conf"), "hosts: files dns\n");
  for (const name of ["shadow", "gshadow"]) writeFileSync(at("etc", name), "", { mode: 0o640 });
  rmSync(at("usr/bin/awk"), { force: true }); // of an earlier time
  symlinkSync("mawk", at("usr/bin/awk"));
  for (const directory of ["home/user", "mnt", "package", "var/lib/dpkg"])
    mkdirSync(at(directory), { recursive: true });
  writeFileSync(at("var/lib/dpkg/status"), "");
  chownSync(at("home/user"), kUser, kUser);
  return tree;
}
