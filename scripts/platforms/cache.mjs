// What the platforms need and take long to get is kept here, from one run to the next.
import { mkdirSync } from "node:fs";
import { inRoot } from "../lib/project.mjs";

export function cacheDirectory(...parts) {
  const directory = inRoot("build", "platforms", ...parts);
  mkdirSync(directory, { recursive: true });
  return directory;
}
