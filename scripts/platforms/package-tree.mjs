// The package as a machine or a container has it, at /package: what is built, what that needs of
// node_modules, and the programs that look at it.
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { inRoot, packageJson } from "../lib/project.mjs";
import { tempDirectory } from "../lib/temp.mjs";

const kPrograms = "scripts/platforms/machines/guest";
const kOurs = ["package.json", "dist", "__tests__/platforms/smoke", "scripts/lib", kPrograms];
const kBinaries = ["native_runner.node", "launcher"];
const kTests = ["launcher_tests", "launcher_probe", "supervise_tests"];

/** The package's dependencies, and theirs, as the lock file has them. */
function dependencies() {
  const { packages } = JSON.parse(readFileSync(inRoot("package-lock.json"), "utf8"));
  const found = new Set();
  const follow = (names) => {
    for (const name of names) {
      if (found.has(name)) continue;
      found.add(name);
      follow(Object.keys(packages[`node_modules/${name}`]?.dependencies ?? {}));
    }
  };
  follow(Object.keys(packageJson().dependencies));
  return [...found].map((name) => `node_modules/${name}`);
}

/**
 * @param build the directory with the binaries for that processor.
 * @returns a directory, which goes away with the script.
 */
export function packageTree(build, { withTests }) {
  const directory = tempDirectory("package");
  chmodSync(directory, 0o755);
  const copy = (from, to) => {
    mkdirSync(path.dirname(path.join(directory, to)), { recursive: true });
    cpSync(from, path.join(directory, to), { recursive: true, dereference: true });
  };
  for (const each of [...kOurs, ...dependencies()]) copy(inRoot(each), each);
  const tests = withTests ? kTests.map((name) => `native/tests/${name}`) : [];
  const files = [...kBinaries, ...tests];
  for (const file of files) {
    const from = path.join(build, file);
    if (!existsSync(from))
      throw new Error(`${from} is missing: scripts/build.mjs makes it, with --tests`);
    copy(from, path.join("build/release", file));
  }
  return directory;
}
