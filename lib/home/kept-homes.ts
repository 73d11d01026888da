/**
 * The homes that are kept for workspaces, below the user's state directory. Synchronous; each call takes well under a
 * millisecond.
 *
 *   ID/             0700; ID is made from the workspace's real path
 *     workspace     that path; its time of change is when the home was last used
 *     home/         what commands have as their home; they may change all of it, its mode too
 *     caches/       what commands have written over the host's package caches, one directory a cache
 *     gitconfig     the text that was last put into home/.gitconfig
 */

import { createHash } from "node:crypto";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  type Stats,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { covers } from "../paths.js";
import { homeDirectory, stateDirectory } from "../protected-paths.js";

/** A kept home. */
export type KeptHome = {
  id: string;
  /** Where it is. */
  directory: string;
  /** The workspace that it is kept for, a real path. */
  workspace: string;
  usedAt: Date;
};

const kId = /^[0-9a-f]{16}$/;
const kCleared = ".cleared-";

/** Where they are; it need not exist. */
export const keptHomesDirectory = (): string => stateDirectory("homes");

const idOf = (workspace: string) =>
  createHash("sha256").update(workspace).digest("hex").slice(0, 16);

/** @throws Error if the directory belongs to another user, is a link, or can be written by others. */
export function expectOwn(directory: string, status: Stats): void {
  if (!status.isDirectory()) throw new Error(`${directory} is no directory`);
  if (status.uid !== process.geteuid?.()) throw new Error(`${directory} belongs to another user`);
  if ((status.mode & 0o022) !== 0) throw new Error(`others can write to ${directory}`);
}

/** Others see the file only with its text. */
function writeWhole(file: string, text: string): void {
  const made = `${file}.${process.pid}`;
  writeFileSync(made, text, { mode: 0o600 });
  renameSync(made, file);
}

/**
 * Returns the home of a workspace; makes one if there is none.
 * @param workspace a real path
 * @throws Error if none can be made there safely.
 */
export function keepHome(workspace: string): KeptHome {
  const all = keptHomesDirectory();
  const id = idOf(workspace);
  const kept = join(all, id);
  const directory = join(kept, "home");
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  expectOwn(all, lstatSync(all));
  expectOwn(kept, lstatSync(kept));
  if (!lstatSync(directory).isDirectory()) throw new Error(`${directory} is no directory`);
  const name = join(kept, "workspace");
  if (!existsSync(name)) writeWhole(name, workspace);
  if (readFileSync(name, "utf8") !== workspace) {
    throw new Error(`${kept} is kept for another workspace`);
  }
  const usedAt = new Date();
  utimesSync(name, usedAt, usedAt);
  return { id, directory, workspace, usedAt };
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

/**
 * Lists them, the one that was used last first. One that is just being made is left out.
 * @throws Error if the directory can't be read, or is not this user's.
 */
export function keptHomes(): KeptHome[] {
  const all = keptHomesDirectory();
  const names = namesIn(all).filter((name) => kId.test(name));
  if (names.length > 0) expectOwn(all, lstatSync(all));
  const homes = names.flatMap((id) => {
    const name = join(all, id, "workspace");
    try {
      const workspace = readFileSync(name, "utf8");
      return [{ id, directory: join(all, id, "home"), workspace, usedAt: lstatSync(name).mtime }];
    } catch {
      return [];
    }
  });
  return homes.sort((one, other) => other.usedAt.getTime() - one.usedAt.getTime());
}

/**
 * Takes a home away at once: later commands have a new one. Returns the name in {@link keptHomesDirectory} under which it
 * is still to be removed, with others of which the removal was interrupted.
 */
export function putAside({ id }: KeptHome): string[] {
  const all = keptHomesDirectory();
  renameSync(join(all, id), join(all, `${kCleared}${id}-${process.pid}-${Date.now()}`));
  return namesIn(all).filter((name) => name.startsWith(kCleared));
}

/** The user's own directory can't be the home: its secrets would be in the sandbox. */
export function holdsUsersHome(directory: string, real: (path: string) => string): boolean {
  return covers(directory, real(homeDirectory()));
}
