// Programs on the PATH.

import { accessSync, constants } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";

/** The absolute path of a program, or undefined. */
export function findProgram(program) {
  if (isAbsolute(program)) return program;
  for (const directory of (process.env.PATH ?? "").split(delimiter)) {
    const candidate = join(directory, program);
    try {
      accessSync(candidate, constants.X_OK);
      return candidate;
    } catch {
      // Not in this directory.
    }
  }
  return undefined;
}

export const hasProgram = (program) => findProgram(program) !== undefined;
