/** What commands do to a tree, and what really comes of it. */

import { spawnSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { BubblewrapNativeRunner } from "../support/package.js";
import { run } from "../support/results.js";
import { tempDirectory } from "../support/temp.js";

/** A workspace with files, directories and links of all kinds. */
export function workspaceWithAll(): string {
  const workspace = tempDirectory();
  for (const directory of ["dir/sub", "empty", "other"]) {
    mkdirSync(join(workspace, directory), { recursive: true });
  }
  for (const file of ["a", "b", "c", "dir/x", "dir/y", "dir/sub/z", "other/o"]) {
    writeFileSync(join(workspace, file), `${file}\n`);
  }
  symlinkSync("a", join(workspace, "link"));
  symlinkSync("dir", join(workspace, "dirlink"));
  symlinkSync("nowhere", join(workspace, "dangling"));
  return workspace;
}

/** By what they are about. */
export const kScripts: [string, string][] = [
  ["nothing", "cat a dir/x > /dev/null; ls -R > /dev/null"],
  ["times only", "touch a dir dir/x; touch -d @1000 b; touch -h link"],
  ["writing what was there", "cp a a2; cat a2 > a; rm a2; chmod 600 b; chmod 644 b"],
  ["another content of one size and time", 't=$(stat -c %y a); echo b > a; touch -d "$t" a'],
  ["a file", "echo more >> a; echo new > new; rm b"],
  ["modes", "chmod 755 a; chmod 700 dir; chmod 750 .; chmod 600 dir/sub/z"],
  ["links", "ln -sfn b link; ln -s x new; rm dangling; ln -sfn other dirlink"],
  ["names", "mv a aa; mv dir/x other/; mv b c"],
  ["names of directories", "mv dir dir2; mv other/ empty; mv dir2/sub sub"],
  ["names that change places", "mv a t; mv b a; mv t b; mv dir t; mv other dir; mv t other"],
  ["names and modes", "mv a aa; chmod 755 aa; mv dir/x dir/xx; chmod 600 dir/xx"],
  ["names and contents", "mv a aa; echo more >> aa; mv b bb; : > c; mv c cc"],
  [
    "copies and moves of the same",
    "cp a a1; cp a a2; rm a; cp b dir/b; mv b other/b; rm c; echo c > c1",
  ],
  ["a directory that takes a file's name", "rm a; mv dir a"],
  ["a directory that is removed", "rm -r dir"],
  ["one that is made anew", "rm -r dir; mkdir dir; echo x > dir/x; echo w > dir/w"],
  ["one that is made anew, with those in it", "rm -r dir; mkdir -p dir/sub; echo w > dir/sub/w"],
  ["one that is emptied", "rm -r dir/* ; rmdir empty"],
  ["directories that are new", "mkdir -p n/m/o p; echo q > n/m/q; ln -s q n/m/l"],
  ["a file that becomes a directory", "rm a; mkdir a; echo in > a/in"],
  ["a directory that becomes a file", "rm -r dir; echo file > dir"],
  ["a directory that becomes a link", "rm -r dir; ln -s other dir"],
  ["a link that becomes a directory", "rm link dirlink; mkdir link; cp -r dir dirlink"],
  [
    "there and back",
    "rm a; mkdir a; rmdir a; echo a > a; rm -r other; mkdir other; echo other/o > other/o",
  ],
  ["FIFOs", "mkfifo pipe; rm b; mkfifo b"],
  ["hard links", "ln a h1; ln h1 dir/h2; echo more >> dir/h2"],
  [
    "odd names",
    "echo 1 > \"$(printf 'a\\nb')\"; echo 2 > ' '; echo 3 > '-rf'; echo 4 > '*'; echo 5 > \"'\\\"\\\\\"",
  ],
  [
    "names that begin alike",
    "mkdir 'a.d' a-d; echo 1 > a.d/f; echo 2 > a-d/f; mkdir dir.; echo > dir./x",
  ],
  ["edits in place", "sed -i s/a/A/ a; sed -i s/x/X/ dir/x; sed -i s/y/y/ dir/y"],
  ["unreadable files", "echo no > shut; chmod 0 shut; mkdir -m 0 closed"],
  ["holes", "truncate -s 100M hole; truncate -s 0 a"],
];

/** A copy of a directory, whatever the names in it are. */
export function copyOf(directory: string): string {
  const copy = tempDirectory();
  const { status, stderr } = spawnSync("cp", ["-a", `${directory}/.`, copy], { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
  return copy;
}

/** A copy of the workspace, changed by the script without a transaction. */
export async function changedCopy(workspace: string, script: string): Promise<string> {
  const copy = copyOf(workspace);
  await run(new BubblewrapNativeRunner({ shadowDir: copy, prewarm: 0 }), script);
  return copy;
}
