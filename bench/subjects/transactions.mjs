// What it costs that nothing a command does is the host's yet, and what it takes to make it so.

import { execFile } from "node:child_process";
import { cp, lstat, mkdir, readdir, realpath, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

import { bursts, millisecondsOf } from "../bursts.mjs";
import { burstOf, compiled, hasProgram } from "../programs.mjs";
import { kCold, kPrewarmed } from "./ours.mjs";
import { change, fillFolders, noTransactions, placeOf, runnerOf } from "./projects.mjs";
import { hostMemory, loopDelay, runTime } from "./scenario.mjs";

// "While all this goes on": of a host that does nothing else, in each of these scenarios.
const quietLoop = { ...loopDelay, limit: { of: "p99", atMost: 5, aim: 2 } };

const run = promisify(execFile);

const call = (name, bars) => ({ ...runTime, name, ...bars });

const kRatio = { atMost: 1.15, aim: 1.05 };
const kPrewarmedRatio = { atMost: 1.05, aim: 1.02 };

const runs = {
  name: "transaction-run",
  work:
    "/bin/true, one at a time, in a transaction and without; where sandboxes are kept standing, " +
    "the next run comes when they all stand again",
  variants: ["transacted", "transactedPrewarmed", "ours", "prewarmed"],
  sizes: { full: { rounds: 30, runs: 20 }, quick: { rounds: 3, runs: 10 } },
  request: { argv: ["/bin/true"], atOnce: 1, ready: "run", watchLoop: true },
  measures: [
    { ...runTime, bars: { ours: kRatio } },
    { ...runTime, of: "transactedPrewarmed", bars: { prewarmed: kPrewarmedRatio } },
    quietLoop,
  ],
};

const open = {
  name: "transaction-open",
  work:
    "openTransaction on a project of 50,000 files with 2 GB; and what a transaction takes on disk " +
    "in which 10 of them were changed, without the size of these",
  variants: ["transactionOpen"],
  sizes: { full: { rounds: 10, runs: 20 }, quick: { rounds: 2, runs: 5 } },
  request: {},
  measures: [
    call("opening", { limit: { of: "p50", atMost: 30, aim: 10 } }),
    {
      name: "disk besides",
      unit: "MiB",
      sample: (burst) => burst.overheadBytes / 2 ** 20,
      limit: { of: "max", atMost: 1, aim: 0.25 },
    },
    quietLoop,
  ],
};

const changes = {
  name: "transaction-changes",
  work:
    "changes() of 10,000 changes (5,000 files that are longer, 2,000 of another content, 1,000 " +
    "removed, 2,000 new), one call after the other, against a C program that walks the same upper",
  variants: ["transactionChanges", "transactionWalk"],
  sizes: { full: { rounds: 20, runs: 10 }, quick: { rounds: 3, runs: 4 } },
  request: {},
  measures: [
    call("one call", { bars: { transactionWalk: { atMost: 2, aim: 1.2 } } }),
    quietLoop,
    hostMemory,
  ],
};

const commit = {
  name: "transaction-commit",
  work:
    "commit() of 1,000 files of 4 KiB that a command has changed, against a C program that " +
    "exchanges as many by RENAME_EXCHANGE, with one syncfs",
  variants: ["transactionCommit", "transactionExchange"],
  sizes: { full: { rounds: 20, runs: 3 }, quick: { rounds: 3, runs: 2 } },
  request: {},
  measures: [
    call("one commit", { bars: { transactionExchange: { atMost: 2, aim: 1.5 } } }),
    quietLoop,
  ],
};

const commitNew = {
  name: "transaction-commit-new",
  work:
    "commit() of 100,000 new files in 1,000 new directories, against cp -al of the same from one " +
    "directory to another",
  variants: ["transactionCommitNew", "linkCopy"],
  sizes: { full: { rounds: 5, runs: 1 }, quick: { rounds: 1, runs: 1 } },
  request: {},
  measures: [call("one commit", { bars: { linkCopy: { atMost: 1.5, aim: 1 } } }), quietLoop],
};

const diff = {
  name: "transaction-diff",
  work:
    "diff() of 100 files of 1,000 lines, every fifth changed (20,000 in all), against git diff " +
    "--no-index of two directories, its output read by Node",
  variants: ["transactionDiff", "gitDiff"],
  sizes: { full: { rounds: 20, runs: 5 }, quick: { rounds: 3, runs: 3 } },
  request: {},
  measures: [call("one diff", { bars: { gitDiff: { atMost: 2, aim: 1 } } }), quietLoop],
};

export const scenarios = [runs, open, changes, commit, commitNew, diff];

// Runs in one transaction that is open; `prewarm` as in ours.mjs.

async function openRuns({ workspace, prewarm, clone }) {
  const place = await placeOf(workspace, "run");
  const runner = await runnerOf(place, prewarm, clone);
  const transaction = await runner.openTransaction({ directory: place.state });
  const cold = {
    exec: (input) => transaction.exec(input),
    async close() {
      await transaction.discard();
      await runner.close();
    },
  };
  if (prewarm === 0) return cold;
  return {
    ...cold,
    async ready() {
      const standing = await transaction.warm();
      if (standing < prewarm) throw new Error(`${standing} of ${prewarm} sandboxes stand`);
    },
  };
}

// Opening a transaction on a large project, and what one takes on disk that has changed little.

const kOpenFolders = 500;
const kOpenFiles = 100;
const kOpenBytes = 40_000; // 2 GB in all
const kChanged = 10;

async function diskBytes(path) {
  const status = await lstat(path);
  const names = status.isDirectory() ? await readdir(path) : [];
  const below = await Promise.all(names.map((name) => diskBytes(join(path, name))));
  return below.reduce((sum, bytes) => sum + bytes, status.blocks * 512);
}

async function overheadBytes(runner, { state }) {
  const transaction = await runner.openTransaction({ directory: state });
  const files = Array.from({ length: kChanged }, (_, i) => `d${i * 7}/f${i}`);
  await change(transaction, `for file in ${files.join(" ")}; do printf y >> $file; done`);
  const { length } = await transaction.changes();
  if (length !== kChanged) throw new Error(`${length} changes`);
  const bytes = await diskBytes(join(state, transaction.id));
  await transaction.discard();
  return bytes - kChanged * (kOpenBytes + 1);
}

async function openOpening({ workspace }) {
  const text = Buffer.alloc(kOpenBytes, "x");
  const fill = (project) => fillFolders(project, kOpenFolders, kOpenFiles, () => text);
  const place = await placeOf(workspace, "open", fill);
  const runner = await runnerOf(place);
  const step = async () => {
    let transaction;
    const took = await millisecondsOf(async () => {
      transaction = await runner.openTransaction({ directory: place.state });
    });
    await transaction.discard();
    return took;
  };
  return {
    burst: bursts(step, async () => ({ overheadBytes: await overheadBytes(runner, place) })),
    async close() {
      await runner.close();
      await place.remove();
    },
  };
}

// changes() of a transaction that has changed 10,000 files: a part in place, some new, some removed.

const kChangesFolders = 100;
const kChangesFiles = 80;
const kChanges = 10_000;
const kChangesScript = `
  for folder in d*; do
    cd $folder
    for n in 0 1 2 3 4; do for m in 0 1 2 3 4 5 6 7 8 9; do printf more >> f$n$m; done; done
    for n in 5 6; do for m in 0 1 2 3 4 5 6 7 8 9; do printf same > f$n$m; done; done
    rm f7?
    for n in 0 1; do for m in 0 1 2 3 4 5 6 7 8 9; do printf new > n$n$m; done; done
    cd ..
  done`;

/** Where the floor finds the same upper directory. */
const upperLink = ({ top }) => join(top, "upper");

// Two digits each, as the script writes them.
const nameOf = (file) => String(file).padStart(2, "0");

async function openChanges({ workspace }) {
  const place = await placeOf(workspace, "changes", (project) =>
    fillFolders(project, kChangesFolders, kChangesFiles, () => "text", nameOf),
  );
  const runner = await runnerOf(place);
  const transaction = await runner.openTransaction({ directory: place.state });
  await change(transaction, kChangesScript);
  await symlink(join(place.state, transaction.id, "upper"), upperLink(place));
  const step = () =>
    millisecondsOf(async () => {
      const { length } = await transaction.changes();
      if (length !== kChanges) throw new Error(`${length} changes, ${kChanges} are expected`);
    });
  return {
    burst: bursts(step),
    async close() {
      await transaction.discard();
      await runner.close();
      await place.remove();
    },
  };
}

// A C program that looks at each name in the upper directory of openChanges().

async function openWalk({ workspace }) {
  const program = await compiled(new URL("./transaction-floor.c", import.meta.url));
  const upper = await realpath(upperLink(await placeOf(workspace, "changes")));
  return { burst: ({ runs }) => burstOf(program, ["walk", runs, upper]) };
}

// commit() of 1,000 files that a command has changed.

const kCommitFolders = 10;
const kCommitFiles = 100;
const kCommitBytes = 4096;

// Each run writes something else.
const scriptOf = (run) => `
  block=$(printf '%0${kCommitBytes}d' ${run})
  for file in d*/f*; do printf %s "$block" > $file; done`;

/** How long commit() takes of what a script has changed: `expected` changes. */
async function commitOf(runner, place, script, expected) {
  const transaction = await runner.openTransaction({ directory: place.state });
  await change(transaction, script);
  const { length } = await transaction.changes();
  const took = await millisecondsOf(async () => {
    const { committed } = await transaction.commit();
    if (committed.length !== length || length !== expected) {
      throw new Error(`${committed.length} of ${length} changes were committed`);
    }
  });
  await transaction.discard();
  return took;
}

async function openCommit({ workspace }) {
  const fill = (project) =>
    fillFolders(project, kCommitFolders, kCommitFiles, () => Buffer.alloc(kCommitBytes, "x"));
  const place = await placeOf(workspace, "commit", fill);
  const runner = await runnerOf(place);
  let runs = 0;
  const step = () => {
    runs += 1;
    return commitOf(runner, place, scriptOf(runs), kCommitFolders * kCommitFiles);
  };
  return {
    burst: bursts(step),
    async close() {
      await runner.close();
      await place.remove();
    },
  };
}

// A C program that lets as many files change places as openCommit() commits, with one syncfs(2).

async function openExchange({ workspace }) {
  const program = await compiled(new URL("./transaction-floor.c", import.meta.url));
  const directory = join(workspace, "transaction-exchange");
  await mkdir(directory, { recursive: true });
  return {
    burst: ({ runs }) =>
      burstOf(program, ["exchange", runs, directory, kCommitFolders, kCommitFiles]),
  };
}

// commit() of 100,000 files that a command has made, in directories that it has made.

const kNewFolders = 1000;
const kNewFiles = 100;
const kNewChanges = 1 + kNewFolders * (1 + kNewFiles);
const kNewScript = `
  mkdir new
  cd new
  mkdir $(seq -f d%g ${kNewFolders})
  for folder in d*; do
    for file in $(seq ${kNewFiles}); do printf x > $folder/$file; done
  done`;

async function openCommitNew({ workspace }) {
  const place = await placeOf(workspace, "commit-new");
  const runner = await runnerOf(place);
  const step = async () => {
    const took = await commitOf(runner, place, kNewScript, kNewChanges);
    await rm(join(place.project, "new"), { recursive: true });
    return took;
  };
  return {
    burst: bursts(step),
    async close() {
      await runner.close();
      await place.remove();
    },
  };
}

// cp -al of the same files.

async function openLinkCopy({ workspace }) {
  const top = join(workspace, "link-copy");
  const from = join(top, "new");
  const to = join(top, "copy");
  await mkdir(top);
  await run("/bin/sh", ["-c", kNewScript], { cwd: top });
  const step = async () => {
    const took = await millisecondsOf(() => run("cp", ["-al", from, to]));
    await rm(to, { recursive: true });
    return took;
  };
  return { burst: bursts(step), close: () => rm(top, { recursive: true }) };
}

// diff() of 20,000 changed lines in 100 files.

const kChangedLines = 20_000;
const kDiffFolders = 10;
const kDiffFiles = 10;
const kDiffLines = 1000;
// Every fifth line.
const kDiffScript = "sed -i '1~5s/^/changed /' d*/f*";

const textOf = (folder, file) =>
  Array.from({ length: kDiffLines }, (_, line) => `line ${line} of ${folder}/${file}, as it was\n`);

const fillTexts = (project) =>
  fillFolders(project, kDiffFolders, kDiffFiles, (folder, file) => textOf(folder, file).join(""));

/** Throws unless a patch adds that many lines. */
function expectWhole(patch) {
  const added = patch.match(/^\+(?!\+\+ )/gm)?.length ?? 0;
  if (added !== kChangedLines) throw new Error(`${added} lines were added`);
}

async function openDiff({ workspace }) {
  const place = await placeOf(workspace, "diff", fillTexts);
  const runner = await runnerOf(place);
  const transaction = await runner.openTransaction({ directory: place.state });
  await change(transaction, kDiffScript);
  expectWhole(await transaction.diff());
  const step = () => millisecondsOf(() => transaction.diff());
  return {
    burst: bursts(step),
    async close() {
      await transaction.discard();
      await runner.close();
      await place.remove();
    },
  };
}

// git diff --no-index of the project that openDiff() has, and a copy with the same lines changed, its
// output read.

const noGit = () => (hasProgram("git") ? undefined : "git is not on the PATH");

const kOutput = { maxBuffer: 64 * 2 ** 20 };

// It says by 1 that there are differences.
async function gitDiff(before, after) {
  const words = ["diff", "--no-index", "--no-color", before, after];
  const ended = await run("git", words, kOutput).catch((error) => error);
  if (ended.code !== 1) throw new Error(`git ended with ${ended.code ?? 0}`);
  return ended.stdout;
}

async function openGitDiff({ workspace }) {
  const { project, top } = await placeOf(workspace, "diff", fillTexts);
  const after = join(top, "after");
  await cp(project, after, { recursive: true });
  await run("/bin/sh", ["-c", kDiffScript], { cwd: after });
  expectWhole(await gitDiff(project, after));
  return { burst: bursts(() => millisecondsOf(() => gitDiff(project, after))) };
}

const kTransaction = { kind: "ours", missing: noTransactions, open: openRuns };

export const variants = {
  transacted: {
    ...kTransaction,
    title: "ours, in a transaction",
    options: kCold,
  },
  transactedPrewarmed: {
    ...kTransaction,
    title: "ours, prewarmed in a transaction",
    options: { prewarm: kPrewarmed },
  },
  transactionOpen: {
    title: "openTransaction()",
    kind: "ours",
    missing: noTransactions,
    open: openOpening,
  },
  transactionChanges: {
    title: "changes()",
    kind: "ours",
    missing: noTransactions,
    open: openChanges,
  },
  transactionWalk: { title: "C walk", kind: "floor", open: openWalk },
  transactionCommit: { title: "commit()", kind: "ours", missing: noTransactions, open: openCommit },
  transactionExchange: {
    title: "C exchange and syncfs",
    kind: "floor",
    open: openExchange,
  },
  transactionCommitNew: {
    title: "commit() of new files",
    kind: "ours",
    missing: noTransactions,
    open: openCommitNew,
  },
  linkCopy: { title: "cp -al", kind: "floor", open: openLinkCopy },
  transactionDiff: { title: "diff()", kind: "ours", missing: noTransactions, open: openDiff },
  gitDiff: { title: "git diff --no-index", kind: "floor", missing: noGit, open: openGitDiff },
};
