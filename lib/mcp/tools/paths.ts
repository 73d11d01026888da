/** Paths that a call names, and those that the client's roots leave. */

import { posix } from "node:path";
import * as v from "valibot";

import { isWithin, type Narrowing } from "../roots.js";
import { ToolError } from "../tool.js";

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
