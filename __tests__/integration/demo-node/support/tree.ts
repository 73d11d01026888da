/** Trees of files as tests write and read them: a path, and its text; "-> target" is a link. */

import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";

import { tempDirectory } from "../../support/temp.js";

export type Tree = Record<string, string>;

const kLink = "-> ";
const kExecutable = "#!";

/** Files that begin with "#!" are executable; a path that ends with "/" is an empty directory. */
export function writeTree(root: string, tree: Tree): void {
  for (const [place, text] of Object.entries(tree)) {
    const file = join(root, place);
    mkdirSync(place.endsWith("/") ? file : dirname(file), { recursive: true });
    if (place.endsWith("/")) continue;
    if (text.startsWith(kLink)) symlinkSync(text.slice(kLink.length), file);
    else writeFileSync(file, text);
    if (text.startsWith(kExecutable)) chmodSync(file, 0o755);
  }
}

/** What `writeTree` would write. */
export function readTree(root: string, directory = ""): Tree {
  const tree: Tree = {};
  for (const name of readdirSync(join(root, directory)).sort()) {
    const place = join(directory, name);
    const stat = lstatSync(join(root, place));
    if (stat.isSymbolicLink()) tree[place] = kLink + readlinkSync(join(root, place));
    else if (stat.isFile()) tree[place] = readFileSync(join(root, place), "utf8");
    else if (stat.isDirectory()) {
      const below = readTree(root, place);
      if (Object.keys(below).length === 0) tree[`${place}/`] = "";
      Object.assign(tree, below);
    }
  }
  return tree;
}

export function makeProject(tree: Tree): string {
  const project = tempDirectory("project");
  writeTree(project, tree);
  return project;
}
