// What CMake remembers of where a build directory is from: its paths are absolute, so that in a
// checkout that was copied or moved it would build from, and into, the place it was before.
import { existsSync, readFileSync, realpathSync } from "node:fs";
import path from "node:path";

function realPath(file) {
  try {
    return realpathSync(file);
  } catch {
    return undefined; // gone
  }
}

/** Where the sources of a build directory were when it was configured; undefined: not yet, or here. */
export function movedFrom(directory, root) {
  const cache = path.join(directory, "CMakeCache.txt");
  if (!existsSync(cache)) return undefined;
  const home = /^CMAKE_HOME_DIRECTORY:INTERNAL=(.*)$/m.exec(readFileSync(cache, "utf8"))?.[1] ?? "";
  return home !== "" && realPath(home) === realpathSync(root) ? undefined : home || "elsewhere";
}
