/** The command line as users start it: dist/cli/main.js in a process of its own. */

import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { kHungMs } from "../../support/waits.js";
import { kNodeInside } from "./node-arguments.js";
import { tempDirectory } from "./temp.js";

export const kMain = fileURLToPath(new URL("../../../dist/cli/main.js", import.meta.url));

/** What starts it, also behind a wrapper. */
export const kCli = [...kNodeInside, kMain];

/** Why it can't be started; undefined when it can. */
export const whyNoCli = existsSync(kMain) ? undefined : "dist/ is missing: npm run build";

/** Runs a program to its end in an empty directory. */
export function command(words: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const [program = "", ...args] = words;
  const options = { encoding: "utf8", env: { ...process.env, ...env }, timeout: kHungMs } as const;
  return spawnSync(program, args, { ...options, cwd: tempDirectory() });
}

/** A PATH on which bwrap is a stub that answers --help and fails. */
export function brokenPath(): string {
  const stub = join(tempDirectory("stub"), "bwrap");
  const help = '[ "$1" = --help ] && exec /usr/bin/bwrap --help';
  writeFileSync(stub, `#!/bin/sh\n${help}\necho 'bwrap: stubbed out' >&2\nexit 1\n`);
  chmodSync(stub, 0o755);
  return `${join(stub, "..")}:${process.env.PATH}`;
}
