// What it costs that a command's refused calls are explained.

import { execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { fillFolders, madeOnce } from "./projects.mjs";
import { loopDelay, runTime } from "./scenario.mjs";

const kExplained = [
  {
    name: "explain-status",
    work: "git status of a project of 1,000 files, with explain and without",
    of: "status",
    bar: { atMost: 1.3, aim: 1.1 },
    sizes: { full: { rounds: 40, runs: 10 }, quick: { rounds: 3, runs: 3 } },
  },
  {
    name: "explain-many",
    work: "200 × /bin/true of one shell, with explain and without",
    of: "many",
    bar: { atMost: 1.3, aim: 1.15 },
    sizes: { full: { rounds: 30, runs: 4 }, quick: { rounds: 3, runs: 2 } },
  },
  {
    name: "explain-build",
    work: "eight C files of 100 functions compiled and linked, with explain and without",
    of: "build",
    bar: { atMost: 1.1, aim: 1.05 },
    sizes: { full: { rounds: 20, runs: 1 }, quick: { rounds: 2, runs: 1 } },
  },
];

export const scenarios = kExplained.map(({ name, work, of, bar, sizes }) => ({
  name,
  work,
  variants: [`${of}Explained`, `${of}Plain`],
  sizes,
  request: { argv: [], atOnce: 1, watchLoop: true },
  measures: [{ ...runTime, bars: { [`${of}Plain`]: bar } }, loopDelay],
}));

// What is run with `explain` and without, in a project of its own below the suite's directory.
//   status  git status of 1,000 files that are committed
//   many    200 programs, one after the other, of a shell
//   build   eight C files of 100 functions, compiled with -O2 and linked

const kFolders = 20;
const kFiles = 50;
const kSources = 8;
const kFunctions = 100;

async function fillStatus(project) {
  await fillFolders(project, kFolders, kFiles, (folder, file) => `${folder} ${file}\n`);
  const git = (...args) =>
    execFileSync("git", ["-c", "user.name=bench", "-c", "user.email=bench@localhost", ...args], {
      cwd: project,
      stdio: "ignore",
    });
  git("init", "-q");
  git("add", ".");
  git("commit", "-qm", "all");
}

const functionText = (source, at) =>
  `int f${source}_${at}(char *text, int n) {\n` +
  `  for (int i = 0; i < n; i++) text[i] = (char)(i * ${at + 3} + n);\n` +
  `  return snprintf(text, (size_t)n, "%d %s", ${at}, getenv("HOME")) + (int)strlen(text);\n}\n`;

async function fillBuild(project) {
  const head = "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n";
  for (let source = 0; source < kSources; source++) {
    const functions = Array.from({ length: kFunctions }, (_, at) => functionText(source, at));
    const main = source === 0 ? "int main(void) { char t[64]; return f0_0(t, 64) < 0; }\n" : "";
    await writeFile(join(project, `s${source}.c`), head + functions.join("") + main);
  }
}

const kWorks = {
  status: { fill: fillStatus, argv: ["git", "status", "--porcelain"] },
  many: {
    fill: async () => {},
    argv: ["sh", "-c", "i=0; while [ $i -lt 200 ]; do /bin/true; i=$((i + 1)); done"],
  },
  build: {
    fill: fillBuild,
    argv: ["sh", "-c", "for s in s*.c; do cc -O2 -c $s -o $s.o || exit; done; cc -o p s*.o"],
  },
};

async function openWork({ workspace, work, explain }) {
  const { fill, argv } = kWorks[work];
  const project = join(workspace, `explain-${work}`);
  await madeOnce(project, fill);
  const { BubblewrapNativeRunner } = await import("../../dist/index.js");
  const runner = new BubblewrapNativeRunner({
    shadowDir: project,
    network: "deny",
    prewarm: 0,
    clone: "never",
  });
  return {
    async exec(input) {
      const result = await runner.exec({ ...input, argv, explain });
      if (result.denials.length > 0) {
        throw new Error(`an ordinary command was denied: ${JSON.stringify(result.denials)}`);
      }
      return result;
    },
    close: () => runner.close(),
  };
}

export const variants = Object.fromEntries(
  ["status", "many", "build"].flatMap((work) => [
    [
      `${work}Explained`,
      {
        title: "explained",
        kind: "ours",
        open: openWork,
        options: { work, explain: true },
      },
    ],
    [
      `${work}Plain`,
      {
        title: "not explained",
        kind: "floor",
        open: openWork,
        options: { work, explain: false },
      },
    ],
  ]),
);
