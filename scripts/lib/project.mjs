// Where things are, and which commands the scripts share. Importing it has no side effects.
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");
export const inRoot = (...parts) => path.join(root, ...parts);
export const buildDirectory = (preset) => inRoot("build", preset);
export const packageJson = () => JSON.parse(readFileSync(inRoot("package.json"), "utf8"));

const require = createRequire(path.join(root, "package.json"));

/** The file of a program from node_modules, wherever the package manager put it. */
export function nodeProgram(packageName, binName = packageName) {
  const manifest = require.resolve(`${packageName}/package.json`);
  const { bin } = JSON.parse(readFileSync(manifest, "utf8"));
  return path.join(path.dirname(manifest), typeof bin === "string" ? bin : bin[binName]);
}

/** All files below the given paths (files or directories, missing ones left out), sorted. */
export function filesBelow(...paths) {
  return paths
    .map((part) => inRoot(part))
    .filter((file) => existsSync(file))
    .flatMap((file) =>
      statSync(file).isDirectory()
        ? readdirSync(file, { recursive: true, withFileTypes: true })
            .filter((entry) => entry.isFile())
            .map((entry) => path.join(entry.parentPath, entry.name))
        : [file],
    )
    .sort();
}

/** A hash of names and contents, to tell whether work is still to be done. */
export function hashOf(files, ...texts) {
  const hash = createHash("sha256");
  for (const text of texts) hash.update(`${text}\0`);
  for (const file of files)
    hash.update(`${path.relative(root, file)}\0`).update(readFileSync(file));
  return hash.digest("hex");
}
