/**
 * The client's roots (`roots/list`): directories that it works in. They only ever narrow: roots inside the workspace
 * limit the directories in which commands start and the paths that are committed. Roots that contain the workspace
 * narrow nothing. If roots exist and none relates to the workspace, calls fail.
 */

import { realpathSync } from "node:fs";
import { isAbsolute, posix, relative } from "node:path";
import { fileURLToPath } from "node:url";
import * as v from "valibot";

import { ToolError } from "./words.js";

/** Directories relative to the workspace; undefined: the whole workspace. */
export type Narrowing = readonly string[] | undefined;

const kMostRoots = 64;

/** Returns the path of a root; undefined if it does not exist on this host. */
function pathOf(uri: unknown): string | undefined {
  try {
    return realpathSync(fileURLToPath(String(uri)));
  } catch {
    return undefined; // another scheme or host, or a missing file
  }
}

const isBelow = (path: string) => path !== "" && !path.startsWith("..") && !isAbsolute(path);

/**
 * Returns the narrowing by a client's roots.
 * @param workspace a real path
 * @throws ToolError if none of the roots relates to the workspace
 */
export function narrowingOf(workspace: string, roots: readonly { uri?: unknown }[]): Narrowing {
  if (roots.length === 0) return undefined;
  const paths = roots.slice(0, kMostRoots).flatMap(({ uri }) => pathOf(uri) ?? []);
  const fromRoot = paths.map((path) => relative(path, workspace));
  if (fromRoot.some((path) => path === "" || isBelow(path))) return undefined;
  const inside = paths.map((path) => relative(workspace, path)).filter(isBelow);
  if (inside.length > 0) return inside;
  throw new ToolError(
    "none of the client's roots has to do with the sandbox's workspace: nothing is done. The operator chooses the workspace, by --workspace.",
  );
}

/** True if a path of the workspace lies within the narrowing. */
export function isWithin(narrowing: Narrowing, path: string): boolean {
  return (
    narrowing === undefined ||
    narrowing.some((directory) => path === directory || path.startsWith(`${directory}/`))
  );
}

/** Paths that a call names, limited by the client's roots. */

const kMostPaths = 1000;
const kMostPath = 4096; // PATH_MAX of Linux

export const kPathFields = {
  paths: v.optional(
    v.pipe(
      v.array(v.pipe(v.string(), v.maxLength(kMostPath))),
      v.minLength(1),
      v.maxLength(kMostPaths),
      v.description("These and all below them only, relative to the workspace. Default: all."),
    ),
  ),
};

/** Returns the library's `paths` option. */
export const pathsOption = (paths: string[] | undefined) => (paths === undefined ? {} : { paths });

/**
 * Returns the paths to commit, limited by the roots.
 * @throws ToolError for a path outside the roots
 */
export function pathsToCommit(
  paths: string[] | undefined,
  narrowing: Narrowing,
): string[] | undefined {
  if (narrowing === undefined) return paths;
  if (paths === undefined) return [...narrowing];
  const outside = paths.find(
    (path) => !isWithin(narrowing, posix.normalize(path).replace(/\/$/, "")),
  );
  if (outside === undefined) return paths;
  throw new ToolError(
    `nothing was committed: ${JSON.stringify(outside)} is outside of the client's roots, which are: ${narrowing.join(", ")}`,
  );
}
