/** Looks at paths whose file system may never answer, such as a network share whose server has stopped. */

import { realpathSync } from "node:fs";

import type { NativeAddon } from "../types/addon.js";
import { loadAddon } from "./native.js";

/** How long a caller's turn of the event loop is held up before it waits apart. */
const kBriefMs = 2;

function addonIfPresent(): NativeAddon | undefined {
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

function answers(path: string): boolean {
  try {
    loadAddon().expectAnswer(path, kBriefMs);
    return true;
  } catch (error) {
    if (isUnanswered(error)) return false;
    throw error;
  }
}

const isUnanswered = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ERR_SANDBOX_SETUP";
