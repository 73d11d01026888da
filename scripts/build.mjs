// Builds the addon and the launcher (CMake + Ninja), then dist/ (tsc). Does only what has changed.
//   node scripts/build.mjs [--native-only] [--tests | --target NAME...]
//                          [--preset release|debug|asan|tsan|fuzz | --arch x64|arm64 --libc glibc|musl]
//     --arch, --libc  for another machine, below build/<target>/: cross-built, native code only. For musl
//              it is Zig that compiles, from npm, or what NATIVE_RUNNER_ZIG names
//     --tests  the C++ tests too; they need GoogleTest, which a host that only uses the package
//              from a checkout may lack
//     --target these alone
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import os from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { movedFrom } from "./lib/cmake-cache.mjs";
import { zigProgram } from "./lib/npm/zig.mjs";
import { buildDirectory, filesBelow, hashOf, inRoot, nodeProgram, root } from "./lib/project.mjs";
import { fail, outputOf, run, runQuietly } from "./lib/run.mjs";
import {
  crossTargetOf,
  hasGoogleTestSources,
  isCross,
  presetFor,
  targetOf,
  thisMachine,
} from "./lib/targets.mjs";

const { values: options } = parseArgs({
  options: {
    arch: { type: "string" },
    libc: { type: "string" },
    "native-only": { type: "boolean", default: false },
    preset: { type: "string" },
    target: { type: "string", multiple: true },
    tests: { type: "boolean", default: false },
  },
});

const isCurrent = (stamp, hash) => existsSync(stamp) && readFileSync(stamp, "utf8") === hash;

function leaveStamp(stamp, hash) {
  mkdirSync(path.dirname(stamp), { recursive: true });
  writeFileSync(stamp, hash);
}

function choosePreset({ arch, libc, preset }) {
  if (arch === undefined && libc === undefined) return preset ?? "release";
  if (preset !== undefined) fail("--preset can't be combined with --arch or --libc");
  try {
    const machine = thisMachine();
    return presetFor(targetOf(machine, { arch, libc }), machine);
  } catch (error) {
    return fail(error.message);
  }
}

function hasTestLibraries(preset) {
  if (isCross(preset)) return hasGoogleTestSources();
  return outputOf("pkg-config", ["--exists", "gtest"]) !== undefined;
}

/** CMake notices changed sources by itself, but no changed presets, other node or other place. */
function configure(preset) {
  const directory = buildDirectory(preset);
  const before = movedFrom(directory, root);
  if (before !== undefined) {
    console.log(`build/${preset} was configured in ${before}: it is made anew`);
    rmSync(directory, { recursive: true });
  }
  const cache = hasTestLibraries(preset) ? [] : ["-DNATIVE_RUNNER_TESTS=OFF"];
  const stamp = path.join(directory, ".configured");
  const hash = hashOf(
    filesBelow("CMakePresets.json", "native/cmake/toolchains"),
    process.execPath,
    process.version,
    ...cache,
  );
  if (isCurrent(stamp, hash) && existsSync(path.join(directory, "build.ninja"))) return;
  runQuietly("cmake", ["--preset", preset, ...cache]);
  leaveStamp(stamp, hash);
}

function targetsOf(preset, { tests, target }) {
  if (target !== undefined) return target;
  return tests || preset === "fuzz" ? [] : ["native_runner", "launcher"];
}

function buildNative(preset, chosen) {
  if (outputOf("cmake", ["--version"]) === undefined) {
    fail("no cmake here; run scripts/bootstrap first");
  }
  if (crossTargetOf(preset)?.libc === "musl") process.env.NATIVE_RUNNER_ZIG = zigProgram();
  configure(preset);
  const args = ["--build", "--preset", preset, "--parallel", String(os.availableParallelism())];
  const targets = targetsOf(preset, chosen);
  if (targets.length > 0) args.push("--target", ...targets);
  if (process.stdout.isTTY) run("cmake", args);
  else runQuietly("cmake", args, { without: /^\[\d+\/\d+\] .*\n/gm });
}

function linkCompileCommands(preset) {
  const link = inRoot("compile_commands.json");
  rmSync(link, { force: true });
  symlinkSync(path.join("build", preset, "compile_commands.json"), link);
}

function buildTypeScript() {
  const stamp = inRoot("build", "typescript.stamp");
  const hash = hashOf(
    filesBelow("lib", "types", "web", "tsconfig.json", "tsconfig.build.json", "package.json"),
  );
  if (isCurrent(stamp, hash) && existsSync(inRoot("dist", "index.js"))) return;
  rmSync(inRoot("dist"), { recursive: true, force: true });
  run(process.execPath, [nodeProgram("typescript", "tsc"), "-p", "tsconfig.build.json"]);
  run(process.execPath, [inRoot("scripts", "build-page.mjs")]);
  run(process.execPath, [inRoot("scripts", "build-bundles.mjs")]);
  run(process.execPath, [inRoot("scripts", "build-man.mjs")]);
  const cli = inRoot("dist", "cli", "main.js");
  if (existsSync(cli)) chmodSync(cli, 0o755);
  leaveStamp(stamp, hash);
}

const preset = choosePreset(options);
// lib/native.ts prefers prebuilds/, so a staged one would hide what is built here.
if (!isCross(preset)) rmSync(inRoot("prebuilds"), { recursive: true, force: true });
buildNative(preset, options);
if (preset === "release" || preset === "debug") linkCompileCommands(preset);
if (!options["native-only"] && !isCross(preset)) buildTypeScript();
