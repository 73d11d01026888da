/**
 * The client's roots (`roots/list`): directories that it works in. They only ever take away: where some
 * lie in the workspace, commands start there, and nothing else is committed. Roots that hold the
 * workspace take nothing; where there are some and none has to do with it, nothing is done.
 */

import { realpathSync } from "node:fs";
import { isAbsolute, relative } from "node:path";
import { fileURLToPath } from "node:url";

import { ToolError } from "./tool.js";

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
