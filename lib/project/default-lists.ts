/** What a project's commands must not write although the project is theirs. */

import { join, relative } from "node:path";
import { kReadOnlyOfHome } from "../home-lists.js";
import { homes } from "../homes.js";
import { kProtectedNames } from "../protected-names.js";

/** Paths to protect in each of these projects (real paths). */
export function defaultReadOnly(projects: readonly string[]): string[] {
  const shared = homes().flatMap((home) =>
    projects
      .map((project) => relative(project, home))
      .filter((inside) => inside !== ".." && !inside.startsWith("../")),
  );
  const ofHomes = shared.flatMap((inside) => kReadOnlyOfHome.map((path) => join(inside, path)));
  return [...new Set([...kProtectedNames, ...ofHomes])];
}
