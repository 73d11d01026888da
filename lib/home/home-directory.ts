/** Homes that are directories of the host: one of the caller's choice, a workspace's kept one, a transaction's. */

import {
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  realpathSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import type { SandboxHome } from "../../types/public.js";
import { isSilent } from "../answering-path.js";
import { covers, realPathOr } from "../paths.js";
import { holdsUsersHome, keepHome, keptHomesDirectory } from "./kept-homes.js";

/** A home on the host, or why it can't be had. */
export type HomeDirectory =
  | {
      /** A real path. */
      directory: string;
      /** Where the text of its ~/.gitconfig is noted, to renew it; undefined: it is written once. */
      note?: string;
      /** Where what is written over the host's caches is kept with it; undefined: nowhere. */
      caches?: string;
      /** A path whose state changes when the directory is removed or made anew. */
      watched?: string;
    }
  | { failure: string; fix: string };

/** The options and paths that decide where the home is. */
export type HomePlace = {
  home: SandboxHome;
  /** The workspace on the host: the named path, and the real one. */
  workspace: readonly string[];
  /** The home of the transaction that commands work in. */
  ofTransaction: string | undefined;
};

const kSilentFix = "see that the file system there answers, or name another directory";
const kDirectoryFix = "name an existing directory outside of the workspace";

const realOr = (path: string): string => (isSilent(path) ? path : realPathOr(path));

const unanswered = (path: string) => `${path} is on a file system that does not answer`;

/** @throws Error if the path's file system does not answer. */
function expectAnswering(path: string): void {
  if (isSilent(path)) throw new Error(unanswered(path));
}

function chosen(named: string): HomeDirectory {
  let directory: string;
  if (isSilent(named)) return { failure: `home.directory ${unanswered(named)}`, fix: kSilentFix };
  try {
    directory = realpathSync(named);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return { failure: `home.directory ${named} can't be used: ${code}`, fix: kDirectoryFix };
  }
  if (holdsUsersHome(directory, realOr)) {
    const failure = `home.directory ${named} holds the user's own home, with its secrets`;
    return { failure, fix: "name a directory of its own, or show parts of it by `mounts`" };
  }
  return { directory };
}

function kept(workspace: string): HomeDirectory {
  expectAnswering(workspace);
  expectAnswering(keptHomesDirectory());
  const { directory } = keepHome(realpathSync(workspace));
  const real = realpathSync(directory);
  const own = dirname(real);
  return {
    directory: real,
    note: join(own, "gitconfig"),
    caches: join(own, "caches"),
    watched: own,
  };
}

function ofTransaction(directory: string): HomeDirectory {
  expectAnswering(directory);
  try {
    mkdirSync(directory, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  return { directory: realpathSync(directory) };
}

function found(place: HomePlace): HomeDirectory | undefined {
  const { home, workspace, ofTransaction: own } = place;
  if (typeof home === "object") return chosen(home.directory);
  if (home === "kept") return kept(workspace[0] as string);
  return home === "private" && own !== undefined ? ofTransaction(own) : undefined;
}

/** Returns the home on the host, made if it is ours; undefined: it is a file system of the sandbox's own, or none. */
export function homeDirectoryOf(place: HomePlace): HomeDirectory | undefined {
  let home: HomeDirectory | undefined;
  try {
    home = found(place);
  } catch (error) {
    const failure = `no home can be kept: ${(error as Error).message}`;
    return { failure, fix: 'use `home: "private"`, or another XDG_STATE_HOME' };
  }
  if (home === undefined || "failure" in home) return home;
  const { directory } = home;
  const isMixed = place.workspace.some(
    (each) => covers(each, directory) || covers(directory, each),
  );
  if (!isMixed) return home;
  const failure = `the home ${directory} and the workspace must not lie in each other`;
  const fix = place.home === "kept" ? "set XDG_STATE_HOME to a directory elsewhere" : kDirectoryFix;
  return { failure, fix };
}

const kMostText = 256 * 1024;

/** The text of a file that commands may have replaced; undefined: it is no regular file of a usual size. */
function textBehind(path: string): string | undefined {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  let file: number | undefined;
  try {
    file = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    const status = fstatSync(file);
    if (!status.isFile() || status.size > kMostText) return undefined;
    const bytes = Buffer.alloc(status.size);
    return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, 0)).toString("utf8");
  } catch {
    return undefined;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function noted(note: string): string | undefined {
  try {
    return readFileSync(note, "utf8");
  } catch {
    return undefined;
  }
}

function put({ directory, note }: { directory: string; note?: string }, text: string): void {
  const file = join(directory, ".gitconfig");
  const before = note === undefined ? undefined : noted(note);
  if (text === "" && before === undefined) return;
  try {
    writeFileSync(file, text, { flag: "wx", mode: 0o644 });
  } catch {
    if (note === undefined || before === undefined || before === text) return;
    if (textBehind(file) !== before) return;
    const made = `${note}.${process.pid}`;
    writeFileSync(made, text, { mode: 0o644 });
    renameSync(made, file);
  }
  if (note !== undefined) writeFileSync(note, text, { mode: 0o600 });
}

/**
 * Puts `text` into the home's ~/.gitconfig if there is none, or if it still is what was put there before. What commands
 * have written stays. Follows no link in the home. Without effect where it can't be written.
 */
export function putGitConfig(home: { directory: string; note?: string }, text: string): void {
  try {
    put(home, text);
  } catch {}
}
