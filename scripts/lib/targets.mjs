// What binaries are built for: the names that prebuilds/ has, and CMake's presets that build them.
import { existsSync } from "node:fs";

/** Each is the name of a folder of prebuilds/ and, but on a machine of that kind, of a preset. */
export const targets = [
  { name: "linux-x64", arch: "x64", libc: "glibc" },
  { name: "linux-arm64", arch: "arm64", libc: "glibc" },
  { name: "linux-x64-musl", arch: "x64", libc: "musl" },
];

const kGnuNames = { x64: "x86_64", arm64: "aarch64" };

/** The machine that this runs on, as far as it decides what a build is for. */
export function thisMachine() {
  const { glibcVersionRuntime } = process.report.getReport().header;
  const libc = glibcVersionRuntime === undefined ? "musl" : "glibc";
  return { arch: process.arch, libc };
}

/**
 * The target of a machine, or of what was asked for in its place.
 * @throws Error that names those there are.
 */
export function targetOf(machine, { arch = machine.arch, libc = machine.libc } = {}) {
  const found = targets.find((target) => target.arch === arch && target.libc === libc);
  if (found !== undefined) return found;
  const known = targets.map((target) => `--arch ${target.arch} --libc ${target.libc}`);
  throw new Error(`--arch ${arch} --libc ${libc} can't be built: there are ${known.join(", ")}`);
}

/**
 * The preset that builds for a target on a machine.
 * @throws Error where this kind of machine has no cross compiler for it.
 */
export function presetFor(target, machine) {
  if (target.arch === machine.arch && target.libc === machine.libc) return "release";
  if (machine.arch !== "x64" || machine.libc !== "glibc") {
    throw new Error(
      `${target.name} is cross-built on x64 with glibc only; this machine has ${machine.arch} and ${machine.libc}`,
    );
  }
  return target.name;
}

/** The strip(1) for its binaries. */
export const stripFor = ({ arch }, machine) =>
  arch === machine.arch ? "strip" : `${kGnuNames[arch]}-linux-gnu-strip`;

/** What a preset builds for, where that is another kind of machine; undefined: it is this one. */
export const crossTargetOf = (preset) => targets.find(({ name }) => name === preset);

/** Whether a preset is for another kind of machine. */
export const isCross = (preset) => crossTargetOf(preset) !== undefined;

/** Where GoogleTest's sources are: cross-built tests need them (native/cmake/GoogleTestTarget.cmake). */
export const hasGoogleTestSources = () => existsSync("/usr/src/googletest/CMakeLists.txt");
