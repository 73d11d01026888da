// The root file system of an emulated machine as a disk, made once for the packages that there are.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { cacheDirectory } from "../cache.mjs";
import { rootTree } from "../root-tree.mjs";
import { makeDisk } from "./disk.mjs";

export function rootDisk(arch) {
  const tree = rootTree(arch);
  const file = path.join(cacheDirectory("machines"), `root-${arch}.ext4`);
  const stamp = `${file}.packages`;
  const packages = readFileSync(path.join(tree, ".packages"), "utf8");
  const isMade = existsSync(file) && existsSync(stamp) && readFileSync(stamp, "utf8") === packages;
  if (isMade) return file;
  makeDisk(tree, file);
  writeFileSync(stamp, packages);
  return file;
}
