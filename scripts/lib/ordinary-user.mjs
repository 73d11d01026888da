// An ordinary user for the tests that root starts: a uid that no account has, with a home, a copy of
// the checkout (which may lie where only root can look, such as /root), and nothing of root's
// environment. Needs root. Everything is below one temporary directory, owned by that user. The
// account that Firejail wants is there for the tests alone: in a mount namespace, on a copy of
// /etc/passwd.
import { spawnSync } from "node:child_process";
import {
  chownSync,
  constants,
  cpSync,
  existsSync,
  lchownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { processesOf } from "./processes.mjs";
import { inRoot, root } from "./project.mjs";
import { tempDirectory } from "./temp.mjs";

const firstUid = 61_000; // between systemd's ranges for homes and for dynamic users
const notNeeded = new Set([".git", ".cache", "coverage"].map((name) => inRoot(name)));

function freeUid() {
  const taken = new Set(
    readFileSync("/etc/passwd", "utf8")
      .split("\n")
      .map((line) => Number(line.split(":")[2])),
  );
  let uid = firstUid;
  while (taken.has(uid) || processesOf(uid).length > 0) uid += 1;
  return uid;
}

function isNeeded(file) {
  if (notNeeded.has(file)) return false;
  const inBuild = path.relative(inRoot("build"), file);
  if (inBuild === "" || inBuild.startsWith("..")) return true;
  if (inBuild.split(path.sep)[0] === "other-hosts") return true; // engines that a test installed
  return /^(release(\/(native_runner\.node|launcher))?|fuzz(\/(launcher|native(\/tests(\/\w+_(tests|probe))?)?))?)$/.test(
    inBuild,
  );
}

function giveAway(directory, uid) {
  chownSync(directory, uid, uid);
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const file = path.join(directory, entry.name);
    if (entry.isDirectory()) giveAway(file, uid);
    else lchownSync(file, uid, uid);
  }
}

/** The running node, or a copy of it where the user may not execute ours. */
function nodeFor(uid, directory) {
  const probe = spawnSync(process.execPath, ["--version"], { uid, gid: uid, cwd: "/" });
  if (probe.status === 0) return process.execPath;
  const copy = path.join(directory, "bin", "node");
  cpSync(process.execPath, copy, { mode: constants.COPYFILE_FICLONE });
  return copy;
}

const inNamespace =
  'mount --bind "$1" /etc/passwd && mount --bind "$2" /etc/group && shift 2 && exec "$@"';

/** Words that run the program after them as the user, who then has an account; [] where they can't. */
function withAccount(uid, home) {
  const directory = tempDirectory("account");
  const files = Object.entries({
    passwd: `native-runner-test:x:${uid}:${uid}::${home}:/bin/sh\n`,
    group: `native-runner-test:x:${uid}:\n`,
  }).map(([name, line]) => {
    const file = path.join(directory, name);
    writeFileSync(file, `${readFileSync(`/etc/${name}`, "utf8").trimEnd()}\n${line}`);
    return file;
  });
  const become = ["setpriv", `--reuid=${uid}`, `--regid=${uid}`, "--clear-groups", "--"];
  const words = ["unshare", "--mount", "sh", "-c", inNamespace, "sh", ...files, ...become];
  const [program, ...args] = [...words, "id", "-un"];
  const tried = spawnSync(program, args, { encoding: "utf8" });
  if (tried.stdout?.trim() === "native-runner-test") return words;
  console.log(`no account for uid ${uid}: ${tried.error?.message ?? tried.stderr.trim()}`);
  return [];
}

/** What a failed run of chaos has kept in the user's checkout, before that goes. */
function bringEvidence(checkout) {
  const evidence = path.join(checkout, "build", "evidence");
  if (!existsSync(evidence)) return;
  cpSync(evidence, inRoot("build", "evidence"), { recursive: true });
  console.log(`copied to ${inRoot("build", "evidence")}: ${readdirSync(evidence).join(", ")}`);
}

export function makeOrdinaryUser() {
  const uid = freeUid();
  const home = tempDirectory("user");
  const checkout = path.join(home, "checkout");
  cpSync(root, checkout, {
    recursive: true,
    verbatimSymlinks: true,
    mode: constants.COPYFILE_FICLONE,
    filter: isNeeded,
  });
  mkdirSync(path.join(home, "tmp"));
  process.prependOnceListener("exit", () => bringEvidence(checkout));
  const node = nodeFor(uid, home);
  giveAway(home, uid);
  const env = {
    PATH: `${path.dirname(node)}:${process.env.PATH}`,
    HOME: home,
    TMPDIR: path.join(home, "tmp"),
    LANG: process.env.LANG ?? "C.UTF-8",
    NATIVE_RUNNER_TEST_AS: "user",
    ...(process.env.CI === undefined ? {} : { CI: process.env.CI }),
  };
  const before = withAccount(uid, home);
  const as = before.length > 0 ? {} : { uid, gid: uid };
  return { uid, home, checkout, node, env, before, spawnOptions: { ...as, env, cwd: checkout } };
}
