/** What a directory holds, for comparisons to the letter. */

import { lstatSync, readdirSync, readFileSync, readlinkSync, type Stats } from "node:fs";
import { join } from "node:path";

function describe(path: string, status: Stats): string {
  const { mode, uid, gid, size, mtimeMs } = status;
  const kept = `${mode.toString(8)} ${uid}:${gid}`;
  if (status.isSymbolicLink()) return `${kept} -> ${readlinkSync(path)}`;
  if (!status.isFile()) return kept;
  return `${kept} ${size} ${mtimeMs} ${readFileSync(path).toString("hex")}`;
}

/** All that a directory holds, path by path, with modes, owners, times and contents. */
export function treeOf(directory: string): Record<string, string> {
  const tree: Record<string, string> = {};
  for (const path of readdirSync(directory, { recursive: true, encoding: "utf8" }).sort()) {
    tree[path] = describe(join(directory, path), lstatSync(join(directory, path)));
  }
  return tree;
}
