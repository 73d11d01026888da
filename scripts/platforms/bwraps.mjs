// The bwrap of each Debian suite, as its package has it: where that wants a newer C library than this
// machine's, with the suite's own.
import { chmodSync, existsSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { outputOf } from "../lib/run.mjs";
import { cacheDirectory } from "./cache.mjs";
import { DebianSuite } from "./debian-suite.mjs";

const kSuites = ["bullseye", "bookworm", "trixie", "testing", "unstable"];
const kLibraries = ["libc6", "libcap2", "libselinux1", "libpcre2-8-0"];

const runs = (program) => outputOf(program, ["--version"]) !== undefined;

/** A program that runs another with the C library of its suite. */
function withLibraries(suite, program, version) {
  const roots = kLibraries.map((name) => suite.unpacked(name));
  const directories = roots.flatMap((root) =>
    ["lib", "usr/lib"].map((each) => path.join(root, each, "x86_64-linux-gnu")),
  );
  const loader = directories
    .map((directory) => path.join(directory, "ld-linux-x86-64.so.2"))
    .find((file) => existsSync(file));
  const file = path.join(cacheDirectory("bwraps"), `bwrap-${version}`);
  // Its processes are to have bwrap's name, which is that of the file that is executed: the loader's.
  const named = path.join(cacheDirectory(`bwraps/${version}`), "bwrap");
  rmSync(named, { force: true });
  symlinkSync(loader, named);
  const words = [named, "--library-path", directories.join(":"), program];
  const quoted = words.map((word) => `'${word}'`).join(" ");
  writeFileSync(file, `#!/bin/sh\nexec ${quoted} "$@"\n`);
  chmodSync(file, 0o755);
  return file;
}

/** @returns {{ name: string, program: string, how: string }} */
function bwrapOf(suiteName) {
  const suite = new DebianSuite(suiteName);
  const version = suite.versionOf("bubblewrap");
  const name = `bwrap ${version} (${suiteName})`;
  const packaged = path.join(suite.unpacked("bubblewrap"), "usr/bin/bwrap");
  if (runs(packaged)) return { name, program: packaged, how: "Debian's package" };
  const program = withLibraries(suite, packaged, version);
  if (!runs(program)) throw new Error(`${name} does not run here`);
  return { name, program, how: "Debian's package, with its suite's C library" };
}

/** Each version once: the newest two suites often have the same. */
export function bwraps() {
  const all = new Map();
  for (const suite of kSuites) {
    const each = bwrapOf(suite);
    const version = outputOf(each.program, ["--version"])?.trim();
    if (!all.has(version)) all.set(version, each);
  }
  return [...all.values()];
}
