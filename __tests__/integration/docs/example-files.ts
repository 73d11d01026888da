/** Files that examples find: `<!-- files: NAME -->`, or `<!-- files: NAME at /srv/project -->`. */

import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

function write(directory: string, files: Readonly<Record<string, string>>): void {
  for (const [file, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, file)), { recursive: true });
    writeFileSync(join(directory, file), content);
  }
}

function writeMakefile(directory: string): void {
  write(directory, { Makefile: "all:\n\t@echo built\n\ntest:\n\t@echo ok\n" });
}

function commitAll(directory: string): void {
  const who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
  const git = (...args: string[]) => execFileSync("git", [...who, ...args], { cwd: directory });
  git("init", "--quiet");
  git("add", ".");
  git("commit", "--quiet", "--message", "Makefile");
}

export const kFiles: Record<string, (directory: string) => void> = {
  empty: () => {},
  "make-project": writeMakefile,
  "runtime-config": (directory) => {
    write(directory, { "runtime.json": '{ "network": "deny" }\n' });
  },
  "git-project": (directory) => {
    writeMakefile(directory);
    commitAll(directory);
  },
};
