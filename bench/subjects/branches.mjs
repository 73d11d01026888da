// What branches of a transaction cost: a fork, a run in one, a merge.

import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

import { bursts, millisecondsOf } from "../bursts.mjs";
import { hasProgram } from "../programs.mjs";
import { change, fillFolders, noTransactions, placeOf, runnerOf } from "./projects.mjs";
import { loopDelay, runTime } from "./scenario.mjs";

const run = promisify(execFile);
const quietLoop = { ...loopDelay, limit: { of: "p99", atMost: 5, aim: 2 } };
const call = (name, bars) => ({ ...runTime, name, ...bars });

const kDepth = 10;
const kMerged = 1000;
const kBuilds = 8;
const kSources = 12;

export const scenarios = [
  {
    name: "branch-fork",
    work: "fork() of a transaction with 10 changes, of a project of 50,000 files",
    variants: ["branchFork"],
    sizes: { full: { rounds: 10, runs: 20 }, quick: { rounds: 2, runs: 5 } },
    request: {},
    measures: [call("forking", { limit: { of: "p50", atMost: 15, aim: 8 } }), quietLoop],
  },
  {
    name: "branch-fork-many",
    work: "fork() of a transaction with 10,000 changed files of 1 KiB, against `cp -a --reflink=auto` of these",
    variants: ["branchForkMany", "branchCopy"],
    sizes: { full: { rounds: 8, runs: 2 }, quick: { rounds: 2, runs: 1 } },
    request: {},
    measures: [call("one fork", { bars: { branchCopy: { atMost: 1.5, aim: 1 } } }), quietLoop],
  },
  {
    name: "branch-run",
    work: `/bin/true in a transaction, in a fork of it, and in a fork ${kDepth} deep`,
    variants: ["branchTrunk", "branchOne", "branchDeep"],
    sizes: { full: { rounds: 20, runs: 20 }, quick: { rounds: 3, runs: 10 } },
    request: { argv: ["/bin/true"], atOnce: 1 },
    measures: [
      { ...runTime, of: "branchOne", bars: { branchTrunk: { atMost: 1.05, aim: 1 } } },
      { ...runTime, of: "branchDeep", bars: { branchTrunk: { atMost: 1.15, aim: 1 } } },
    ],
  },
  {
    name: "branch-merge",
    work: `merge() of ${kMerged} texts of which both branches have changed other lines, against \`git merge-tree\` of the same`,
    variants: ["branchMerge", "gitMergeTree"],
    sizes: { full: { rounds: 8, runs: 1 }, quick: { rounds: 2, runs: 1 } },
    request: {},
    measures: [call("one merge", { bars: { gitMergeTree: { atMost: 2, aim: 1 } } }), quietLoop],
  },
  {
    name: "branch-builds",
    work: `${kBuilds} forks of a project of ${kSources} C files, and \`make\` in all of them at once`,
    variants: ["branchBuilds"],
    sizes: { full: { rounds: 5, runs: 1 }, quick: { rounds: 1, runs: 1 } },
    request: {},
    measures: [call("forks and builds"), quietLoop],
  },
];

const text = (file) =>
  `${Array.from({ length: 40 }, (_, at) => `line ${at} of ${file}`).join("\n")}\n`;
const kOurs = "for f in d*/f*; do sed -i 's/^line 3 .*/ours/' $f; done";
const kTheirs = "for f in d*/f*; do sed -i 's/^line 30 .*/theirs/' $f; done";

/** Measures forks of a transaction, each discarded at once. */
const forksOf = (transaction, runner, place) => ({
  burst: bursts(async () => {
    let fork;
    const ms = await millisecondsOf(async () => {
      fork = await transaction.fork();
    });
    await fork.discard();
    return ms;
  }),
  close: () => runner.close().then(place.remove),
});

async function openFork({ workspace }) {
  const place = await placeOf(workspace, "branches", (project) =>
    fillFolders(project, 250, 200, () => "x"),
  );
  const runner = await runnerOf(place);
  const transaction = await runner.openTransaction({ directory: place.state });
  await change(transaction, "for i in 1 2 3 4 5 6 7 8 9 10; do echo y > d0/f$i; done");
  return forksOf(transaction, runner, place);
}

const manyOf = (workspace) => placeOf(workspace, "branch-many");
const kMake =
  "for d in $(seq 100); do mkdir m$d; for f in $(seq 100); do head -c 1024 /dev/zero > m$d/$f; done; done";

async function openForkMany({ workspace }) {
  const place = await manyOf(workspace);
  const runner = await runnerOf(place);
  const transaction = await runner.openTransaction({ directory: place.state });
  await change(transaction, kMake);
  return forksOf(transaction, runner, place);
}

async function openCopy({ workspace }) {
  const top = await mkdtemp(join(workspace, "branch-copy-"));
  const from = join(top, "from");
  await mkdir(from);
  await run("sh", ["-c", kMake], { cwd: from });
  let copies = 0;
  return {
    burst: bursts(async () => {
      copies += 1;
      const to = join(top, `to${copies}`);
      const ms = await millisecondsOf(() => run("cp", ["-a", "--reflink=auto", from, to]));
      await rm(to, { recursive: true });
      return ms;
    }),
    close: () => rm(top, { recursive: true }),
  };
}

async function openAt({ workspace, depth }) {
  const place = await placeOf(workspace, `branch-run-${depth}`, (project) =>
    fillFolders(project, 10, 100, () => "x"),
  );
  const runner = await runnerOf(place);
  let transaction = await runner.openTransaction({ directory: place.state });
  for (let left = depth; left > 0; left -= 1) {
    await change(transaction, `echo ${left} > d0/f${left}`);
    transaction = await transaction.fork();
  }
  return {
    exec: (input) => transaction.exec(input),
    close: () => runner.close().then(place.remove),
  };
}

async function openMerge({ workspace }) {
  const place = await placeOf(workspace, "branch-merge", (project) =>
    fillFolders(project, 10, kMerged / 10, (folder, file) => text(`${folder}/${file}`)),
  );
  const runner = await runnerOf(place);
  const transaction = await runner.openTransaction({ directory: place.state });
  const theirs = await transaction.fork();
  await change(transaction, kOurs);
  await change(theirs, kTheirs);
  return {
    burst: bursts(async () => {
      const ours = await transaction.fork();
      const ms = await millisecondsOf(() => ours.merge(theirs));
      await ours.discard();
      return ms;
    }),
    close: () => runner.close().then(place.remove),
  };
}

const kMakefile = `OBJECTS := $(patsubst %.c,%.o,$(wildcard *.c))
all: program
program: $(OBJECTS)
\tcc -o $@ $^
`;
const source = (at) =>
  `#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\nint part${at}(void) { return printf("%d", ${at}); }\n` +
  (at === 0 ? "int main(void) { return 0; }\n" : "");

async function openBuilds({ workspace }) {
  const place = await placeOf(workspace, "branch-builds", async (project) => {
    await mkdir(project, { recursive: true });
    await writeFile(join(project, "Makefile"), kMakefile);
    for (let at = 0; at < kSources; at += 1) {
      await writeFile(join(project, `part${at}.c`), source(at));
    }
  });
  const runner = await runnerOf(place);
  const transaction = await runner.openTransaction({ directory: place.state });
  return {
    burst: bursts(async () => {
      let forks = [];
      const ms = await millisecondsOf(async () => {
        forks = await transaction.fork({ count: kBuilds });
        await Promise.all(forks.map((fork) => change(fork, "make")));
      });
      await Promise.all(forks.map((fork) => fork.discard()));
      return ms;
    }),
    close: () => runner.close().then(place.remove),
  };
}

async function openGit({ workspace }) {
  const top = await mkdtemp(join(workspace, "branch-git-"));
  await fillFolders(top, 10, kMerged / 10, (folder, file) => text(`${folder}/${file}`));
  await writeFile(join(top, ".gitattributes"), "");
  const git = (...words) =>
    run("git", ["-c", "user.name=A", "-c", "user.email=a@a.test", ...words], { cwd: top });
  await git("init", "-q");
  const commit = async () => {
    await git("add", "-A");
    await git("commit", "-qm", "x");
    return (await git("rev-parse", "HEAD")).stdout.trim();
  };
  const base = await commit();
  await run("sh", ["-c", kOurs], { cwd: top });
  const ours = await commit();
  await git("checkout", "-q", base);
  await run("sh", ["-c", kTheirs], { cwd: top });
  const theirs = await commit();
  return {
    burst: bursts(() => millisecondsOf(() => git("merge-tree", "--write-tree", ours, theirs))),
    close: () => rm(top, { recursive: true }),
  };
}

const ours = (title, open, options) => ({
  title,
  kind: "ours",
  missing: noTransactions,
  open,
  ...(options && { options }),
});
const noCompiler = async () =>
  (await noTransactions()) ??
  (hasProgram("cc") && hasProgram("make") ? undefined : "cc or make is not on the PATH");
const noGit = () => (hasProgram("git") ? undefined : "git is not on the PATH");

export const variants = {
  branchFork: ours("fork()", openFork),
  branchForkMany: ours("fork()", openForkMany),
  branchCopy: { title: "cp -a --reflink=auto", kind: "floor", open: openCopy },
  branchTrunk: ours("in a transaction", openAt, { depth: 0 }),
  branchOne: ours("in a fork", openAt, { depth: 1 }),
  branchDeep: ours(`in a fork ${kDepth} deep`, openAt, { depth: kDepth }),
  branchMerge: ours("merge()", openMerge),
  branchBuilds: { ...ours("forks", openBuilds), missing: noCompiler },
  gitMergeTree: { title: "git merge-tree", kind: "floor", missing: noGit, open: openGit },
};
