// The root file system of an emulated machine as a disk, made once for the packages that there are.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { filesBelow, hashOf } from "../../lib/project.mjs";
import { cacheDirectory } from "../cache.mjs";
import { rootTree } from "../root-tree.mjs";
import { makeDisk } from "./disk.mjs";

const kMaker = "scripts/platforms/root-tree.mjs"; // of what is not from packages

export function rootDisk(arch) {
  const tree = rootTree(arch);
  const file = path.join(cacheDirectory("machines"), `root-${arch}.ext4`);
  const stamp = `${file}.packages`;
  const packages = readFileSync(path.join(tree, ".packages"), "utf8");
  const content = `${hashOf(filesBelow(kMaker))}\n${packages}`;
  const isMade = existsSync(file) && existsSync(stamp) && readFileSync(stamp, "utf8") === content;
  if (isMade) return file;
  makeDisk(tree, file);
  writeFileSync(stamp, content);
  return file;
}
