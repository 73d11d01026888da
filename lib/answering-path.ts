/** Looks at paths whose file system may never answer, such as a network share whose server has stopped. */

import { lstatSync, readlinkSync, realpathSync } from "node:fs";
import { basename, dirname } from "node:path";

import type { NativeAddon } from "../types/addon.js";
import { loadAddon } from "./native.js";
import { below, covers } from "./paths.js";

/** How long a caller's turn of the event loop is held up before it waits apart. */
const kBriefMs = 2;

/** The addon; undefined if it can't be loaded. */
export function addonIfPresent(): NativeAddon | undefined {
  try {
    return loadAddon();
  } catch {
    return undefined; // whoever needs it to run a command reports that
  }
}

/**
 * Like `realpathSync`. Blocks for two seconds at most (without the addon: as long as the file system).
 * @throws Error ERR_SANDBOX_SETUP, naming the path, if its file system does not answer.
 */
export function answeringRealPath(path: string): string {
  addonIfPresent()?.expectAnswer(path);
  return realpathSync.native(path);
}

/** The same, but returns a path that does not exist or does not answer as it is. */
export function realPathIfAnswering(path: string): string {
  try {
    return answeringRealPath(path);
  } catch {
    return path;
  }
}

/**
 * Waits until the file systems of absolute paths answer, so that no thread of Node's pool waits for them.
 * Returns undefined if they do now, as nearly always. The addon must be there.
 * @throws (rejects) Error ERR_SANDBOX_SETUP after 30 seconds, naming the path.
 */
export function untilAnswering(...paths: readonly string[]): Promise<void> | undefined {
  const silent = paths.filter((path) => path.startsWith("/") && !answers(path));
  if (silent.length === 0) return undefined;
  const { awaitAnswer } = loadAddon();
  return Promise.all(silent.map((path) => awaitAnswer(path))).then(() => {});
}

/** True if the file system of an absolute path answers at once. */
function answers(path: string): boolean {
  try {
    addonIfPresent()?.expectAnswer(path, kBriefMs);
    return true;
  } catch (error) {
    if (isUnanswered(error)) return false;
    throw error;
  }
}

const isUnanswered = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ERR_SANDBOX_SETUP";

/** Mount points that did not answer when they were last looked for. */
let silent: readonly string[] = [];
/** The real paths of directories, as far as isSilent has asked since then; undefined: silent. */
const directories = new Map<string, string | undefined>();

/** Looks for mount points that do not answer, for {@link isSilent}. Blocks for 200 ms at most; without the addon finds none. */
export function findSilentMounts(): readonly string[] {
  silent = addonIfPresent()?.silentMounts() ?? [];
  directories.clear();
  return silent;
}

/** The same, as it was when they were last looked for. */
export const lastSilentMounts = (): readonly string[] => silent;

/** True if none of these mount points answers yet. */
export const areStillSilent = (mounts: readonly string[]): boolean =>
  mounts.every((mount) => !answers(mount));

/**
 * True if a look at an absolute path would wait for a file system that did not answer when they were last looked for.
 * @param follows whether a link at its end is followed.
 */
export function isSilent(path: string, follows = true): boolean {
  if (silent.length === 0) return false;
  const above = dirname(path);
  const name = basename(path);
  if (name === "" || name === "." || name === "..") return walk("/", path) === undefined;
  if (!directories.has(above)) directories.set(above, walk("/", above));
  const real = directories.get(above);
  if (real === undefined || isOnSilent(below(real, name))) return true;
  return follows && walk(real, name) === undefined;
}

const kMostLinks = 40;

/** Where a path leads to from a real one, as far as it exists; undefined: to a silent file system. */
function walk(from: string, path: string): string | undefined {
  const toGo = path.split("/");
  let at = from;
  for (let links = 0; toGo.length > 0; ) {
    const name = toGo.shift() as string;
    if (name === "" || name === ".") continue;
    if (name === "..") {
      at = dirname(at);
      continue;
    }
    const next = below(at, name);
    if (isOnSilent(next)) return undefined;
    const text = linkText(next);
    if (text === undefined || links === kMostLinks) {
      at = next;
      continue;
    }
    links += 1;
    toGo.unshift(...text.split("/"));
    if (text.startsWith("/")) at = "/";
  }
  return at;
}

const isOnSilent = (path: string): boolean => silent.some((mount) => covers(mount, path));

function linkText(path: string): string | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()
      ? readlinkSync(path)
      : undefined;
  } catch {
    return undefined; // a directory above it can't be searched, or is a file
  }
}
