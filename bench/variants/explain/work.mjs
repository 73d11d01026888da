// What is run with `explain` and without, in a project of its own below the suite's directory.
//   status  git status of 1,000 files that are committed
//   many    200 programs, one after the other, of a shell
//   build   eight C files of 100 functions, compiled with -O2 and linked

import { execFileSync } from "node:child_process";
import { access, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { BubblewrapNativeRunner } from "../../../dist/index.js";

const kFolders = 20;
const kFiles = 50;
const kSources = 8;
const kFunctions = 100;

async function fillStatus(project) {
  for (let folder = 0; folder < kFolders; folder++) {
    const directory = join(project, `d${folder}`);
    await mkdir(directory);
    const writes = Array.from({ length: kFiles }, (_, file) =>
      writeFile(join(directory, `f${file}`), `${folder} ${file}\n`),
    );
    await Promise.all(writes);
  }
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

export async function open({ workspace, work, explain }) {
  const { fill, argv } = kWorks[work];
  const project = join(workspace, `explain-${work}`);
  const isMade = await access(project).then(
    () => true,
    () => false,
  );
  if (!isMade) {
    await mkdir(project);
    await fill(project);
  }
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
