/** Absolute paths as texts, and where they lead. */

import { realpathSync } from "node:fs";

/** True if `path` is `parent` or below it. Both are normalised. */
export function covers(parent: string, path: string): boolean {
  if (!path.startsWith(parent)) return false;
  return path.length === parent.length || parent === "/" || path[parent.length] === "/";
}

/** The path of an entry; both are normalised, so this needs no join(). */
export function below(directory: string, relative: string): string {
  if (relative === "") return directory;
  return directory === "/" ? `/${relative}` : `${directory}/${relative}`;
}

/** The directory of a normalised absolute path, as dirname() has it at many times the cost; "/" of "/". */
export const above = (path: string): string => path.slice(0, path.lastIndexOf("/")) || "/";

/** Returns the path with all links followed; one that does not exist (any more) as it is. Blocks as its file system does. */
export function realPathOr(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path;
  }
}
