// What an emulated machine boots from: BusyBox, and the kernel's modules that its disks need.
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { inRoot } from "../../lib/project.mjs";
import { fail } from "../../lib/run.mjs";
import { tempDirectory } from "../../lib/temp.mjs";
import { cacheDirectory } from "../cache.mjs";
import { DebianSuite } from "../debian-suite.mjs";
import { Kernel } from "./kernel.mjs";

const kSuite = "trixie"; // of BusyBox
const kInit = "scripts/platforms/machines/guest/initramfs";

/** @param arch Debian's name of a processor. */
function busyboxFor(arch) {
  const unpacked = new DebianSuite(kSuite, arch).unpacked("busybox-static");
  return path.join(unpacked, "usr/bin/busybox");
}

export function initramfs(kernel) {
  const directory = tempDirectory("initramfs");
  for (const each of ["bin", "modules", "root"]) mkdirSync(path.join(directory, each));
  cpSync(busyboxFor(kernel.arch), path.join(directory, "bin/busybox"));
  cpSync(inRoot(kInit), path.join(directory, "init"));
  for (const [index, { name, file }] of kernel.modules().entries()) {
    const place = `${String(index).padStart(2, "0")}-${name}.ko`;
    Kernel.copyModule(file, path.join(directory, "modules", place));
  }
  const names = readdirSync(directory, { recursive: true });
  const packed = spawnSync(busyboxFor("amd64"), ["cpio", "-o", "-H", "newc"], {
    cwd: directory,
    input: [".", ...names].join("\n"),
    maxBuffer: Infinity,
  });
  if (packed.status !== 0) fail(`cpio: ${packed.error?.message ?? packed.stderr}`);
  const file = path.join(cacheDirectory("machines"), `initramfs-${kernel.version}-${kernel.arch}`);
  writeFileSync(file, packed.stdout);
  return file;
}
