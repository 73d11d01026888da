/** Where a runtime without mounts makes the home of each run: a directory of the host that nobody else can write to. */

import { lstatSync, mkdirSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isSilent } from "../answering-path.js";
import { covers } from "../paths.js";
import { stateDirectory } from "../protected-paths.js";
import { expectOwn } from "./kept-homes.js";

/** @throws Error if it can't be made, or is not the user's alone. */
function made(directory: string): string {
  if (isSilent(directory)) throw new Error(`${directory} is on a file system that does not answer`);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  expectOwn(directory, lstatSync(directory));
  return realpathSync(directory);
}

/**
 * Returns a directory for homes, a real path, which is made if it is missing: in the user's state directory, else in that
 * of temporary files.
 * @param shared paths that commands may use anyway: a directory outside of them is preferred.
 */
export function privateHomes(
  shared: readonly string[],
): { homes: string } | { failure: string; fix: string } {
  const reasons: string[] = [];
  let second: string | undefined;
  const uid = process.geteuid?.() ?? 0;
  for (const directory of [
    stateDirectory("run-homes"),
    join(tmpdir(), `openagentic-run-homes-${uid}`),
  ]) {
    try {
      const homes = made(directory);
      if (!shared.some((each) => covers(each, homes))) return { homes };
      second ??= homes;
    } catch (error) {
      reasons.push((error as Error).message);
    }
  }
  if (second !== undefined) return { homes: second };
  return {
    failure: `no home can be made: ${reasons.join("; ")}`,
    fix: 'set XDG_STATE_HOME to a directory that can be written, or use `home: "none"`',
  };
}
