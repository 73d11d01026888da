/** One command with what the lists say to it. */

import type { ShellFinding } from "../../../lib/shell-policy/policy.js";

export type Verdict = ShellFinding["rule"] | "allow";

/** The command, its verdict by the block list alone, and in strict mode where that differs. */
export type CorpusCase = readonly [command: string, off: Verdict, strict?: Verdict];

/** A command that the block list alone refuses, and one like it that it does not. */
export type BlockPair = readonly [refused: string, harmless: string];

/** What strict mode allows in the corpus: ordinary tools, wrappers and programs with escapes. */
export const kAllowlist: readonly string[] = [
  ..."ls cat echo printf grep rg sed awk gawk find fd xargs head tail wc sort uniq cut tr tee".split(
    " ",
  ),
  ..."git npm npx node python3 make cargo go tsc vitest jq diff patch tar gzip zip unzip".split(
    " ",
  ),
  ..."mkdir touch cp mv rm ln chmod chown du df date which dirname basename sleep seq".split(" "),
  ..."cd pwd test [ true false : exit export set read shift return wait local".split(" "),
  ..."env nohup timeout time nice stdbuf setsid command exec sudo parallel watch flock".split(" "),
  ..."sh bash vim less man ssh rsync scp curl wget split ps kill source unset declare let".split(
    " ",
  ),
  "./gradlew",
];
