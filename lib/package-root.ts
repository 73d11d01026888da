/** Locates this package on disk, from its own modules and from a bundle that they became a part of. */

import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const kName = "@openagentic/native-runner";

/** In a bundle in CommonJS; there `import.meta` is empty. */
declare const __filename: string | undefined;

/** Returns the file that this code is in. */
function ownFile(): string {
  const { url } = import.meta as { url?: string };
  if (url?.startsWith("file:")) return fileURLToPath(url);
  return typeof __filename === "string" ? __filename : process.execPath;
}

/** True if the package lies in the folder, and not another one. */
function isPackage(root: string): boolean {
  try {
    const { name } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    return name === kName;
  } catch {
    return false;
  }
}

/** Returns the folder in which Node would find the package for a file in `directory`, if it is installed. */
function installedFor(directory: string): string | undefined {
  for (let at = directory; ; at = dirname(at)) {
    const root = join(at, "node_modules", kName);
    if (isPackage(root)) return root;
    if (at === dirname(at)) return undefined;
  }
}

/**
 * Returns the package's folder, for code in `file`: the folder above that of the package's own modules. Of a bundle it is
 * the package installed for it; else the folder of the bundle, or of a single executable, beside which `prebuilds` and
 * `dist` of the package lie.
 */
export function packageRootOf(file: string): string {
  const directory = dirname(file);
  const own = dirname(directory);
  if (isPackage(own)) return own;
  const beside = [directory, dirname(process.execPath)];
  const isThere = (root: string) => existsSync(join(root, "prebuilds"));
  return installedFor(directory) ?? beside.find(isThere) ?? directory;
}

/** Electron's archives are files: what lies in them can't be executed, and is beside them if it is unpacked. */
export function unpacked(path: string, electron: string | undefined): string {
  return electron === undefined ? path : path.replace(/\.asar(?=[\\/])/, ".asar.unpacked");
}

let found: string | undefined;

/** Returns this package's folder. */
export function packageRoot(): string {
  found ??= unpacked(packageRootOf(ownFile()), process.versions.electron);
  return found;
}

/** Returns the location of a built file, by its path below `dist`; also while this code runs from source. */
export function builtFile(path: string): URL {
  return pathToFileURL(join(packageRoot(), "dist", path));
}
