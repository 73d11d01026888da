/**
 * The client's roots (`roots/list`): directories that it works in. They only ever take away: where some
 * lie in the workspace, commands start there, and nothing else is committed. Roots that hold the
 * workspace take nothing; where there are some and none has to do with it, nothing is done.
 */

import { realpathSync } from "node:fs";
import { isAbsolute, posix, relative } from "node:path";
import { fileURLToPath } from "node:url";
import * as v from "valibot";

import { ToolError } from "./words.js";

/** Directories relative to the workspace; undefined: all of it. */
export type Narrowing = readonly string[] | undefined;

const kMostRoots = 64;

/** Where a root is; undefined where it is nothing of this host. */
function pathOf(uri: unknown): string | undefined {
  try {
    return realpathSync(fileURLToPath(String(uri)));
  } catch {
    return undefined; // another scheme or host, or nothing there
  }
}

const isBelow = (path: string) => path !== "" && !path.startsWith("..") && !isAbsolute(path);

/**
 * @param workspace a real path.
 * @throws ToolError where none of the roots has to do with the workspace.
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

/** Whether a path of the workspace is in what is left of it. */
export function isWithin(narrowing: Narrowing, path: string): boolean {
  return (
    narrowing === undefined ||
    narrowing.some((directory) => path === directory || path.startsWith(`${directory}/`))
  );
}

/** Paths that a call names, and those that the client's roots leave. */

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

/** The option for the library. */
export const pathsOption = (paths: string[] | undefined) => (paths === undefined ? {} : { paths });

/** The paths of a commit, no more than the roots leave. @throws ToolError for one that is outside. */
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
