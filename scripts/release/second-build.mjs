// Builds the binaries once more, in another place with a longer path, from what is committed: a release
// is reproducible when both builds are the same, byte for byte.
import { execFileSync } from "node:child_process";
import { readFileSync, symlinkSync } from "node:fs";
import path from "node:path";
import { inRoot, root } from "../lib/project.mjs";
import { runQuietly } from "../lib/run.mjs";
import { tempDirectory } from "../lib/temp.mjs";

/** A checkout of the commit in a directory whose path has another length. */
export function secondPlace(commit) {
  const place = path.join(
    tempDirectory("second-build"),
    "a-directory-of-another-length",
    "package",
  );
  execFileSync("git", ["clone", "--quiet", "--no-checkout", root, place]);
  execFileSync("git", ["-C", place, "checkout", "--quiet", "--detach", commit]);
  symlinkSync(inRoot("node_modules"), path.join(place, "node_modules"));
  return place;
}

/** Stages a target's binaries there; their directory. */
export function stageIn(place, target) {
  const env = { ...process.env, NATIVE_RUNNER_PREBUILDS: target.name };
  runQuietly(process.execPath, ["scripts/pack.mjs", "--native-only"], { cwd: place, env });
  return path.join(place, "prebuilds", target.name);
}

/** Names of files that are not the same in both directories. */
export const differing = (one, other, names) =>
  names.filter(
    (name) => !readFileSync(path.join(one, name)).equals(readFileSync(path.join(other, name))),
  );
