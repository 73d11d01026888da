// An ordinary user who may start containers: an account with a range of user ids, on copies of the files
// that say so, in a mount namespace; and a root file system that belongs to its container's root.
import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { tempDirectory } from "../../lib/temp.mjs";
import { rootTree } from "../root-tree.mjs";

const kUid = 61_500;
/** What the container's users but its root are on the host: its uid 1 is the first of them. */
const kFirstSubordinate = 200_000;
const kUserInside = 1000;

/** In the mount namespace of the caller; $1 has the files, and the rest is the command. */
const kAsUser = `
mount --make-rshared /
for name in passwd group; do mount --bind "$1/$name" "/etc/$name" || exit; done
for name in subuid subgid; do touch "/etc/$name" && mount --bind "$1/$name" "/etc/$name" || exit; done
cd "$1/home" && account=$1 && shift
exec setpriv --reuid ${kUid} --regid ${kUid} --clear-groups \
  env -i PATH="$PATH" HOME="$account/home" XDG_RUNTIME_DIR="$account/run" "$@"`;

function makeAccount() {
  const account = tempDirectory("rootless");
  const at = (name) => path.join(account, name);
  chmodSync(account, 0o755);
  for (const name of ["passwd", "group"]) copyFileSync(`/etc/${name}`, at(name));
  appendFileSync(at("passwd"), `sandboxer:x:${kUid}:${kUid}::${at("home")}:/bin/sh\n`);
  appendFileSync(at("group"), `sandboxer:x:${kUid}:\n`);
  for (const name of ["subuid", "subgid"]) {
    writeFileSync(at(name), `sandboxer:${kFirstSubordinate}:65536\n`);
  }
  for (const name of ["home", "run"]) {
    mkdirSync(at(name), { mode: 0o700 });
    chownSync(at(name), kUid, kUid);
  }
  return account;
}

/** Files of this machine's root are nobody's in such a container, whose root could not write among them. */
function makeTree() {
  const tree = path.join(tempDirectory("rootless-tree"), "root");
  execFileSync("cp", ["--archive", rootTree("amd64"), tree]);
  chmodSync(path.dirname(tree), 0o755);
  execFileSync("chown", ["--recursive", "--no-dereference", `${kUid}:${kUid}`, tree]);
  const user = kFirstSubordinate + kUserInside - 1;
  chownSync(path.join(tree, "home/user"), user, user);
  return tree;
}

let made;

/** The words of a command that this user starts, given the root file system it may have; for `unshare --mount`. */
export function rootlessWords(wordsWith) {
  made ??= { account: makeAccount(), tree: makeTree() };
  return ["sh", "-c", kAsUser, "sh", made.account, ...wordsWith(made.tree)];
}
