// prepack: builds the release and stages what the tarball carries: dist/ and
// prebuilds/<target>/{native_runner.node,launcher}, stripped. The next build, or postpack
// (`node scripts/pack.mjs --clean`), removes the staged binaries again, as they would hide a build.
//   NATIVE_RUNNER_PREBUILDS  names of the targets, by commas; default: this machine's
//   --native-only            no dist/
import { chmodSync, copyFileSync, existsSync, mkdirSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import { buildDirectory, inRoot, packageJson } from "./lib/project.mjs";
import { fail, run } from "./lib/run.mjs";
import { isCross, presetFor, stripFor, targetOf, targets, thisMachine } from "./lib/targets.mjs";

const prebuilds = inRoot("prebuilds");

if (process.argv.includes("--clean")) {
  rmSync(prebuilds, { recursive: true, force: true });
  process.exit(0);
}

const machine = thisMachine();

function chosenTargets(names = process.env.NATIVE_RUNNER_PREBUILDS) {
  if (names === undefined) return [targetOf(machine)];
  return names.split(",").map((name) => {
    const found = targets.find((target) => target.name === name);
    return found ?? fail(`NATIVE_RUNNER_PREBUILDS: there is no target ${JSON.stringify(name)}`);
  });
}

function stage(target, name, mode, strip) {
  const staged = path.join(prebuilds, target.name, name);
  mkdirSync(path.dirname(staged), { recursive: true });
  copyFileSync(path.join(buildDirectory(presetFor(target, machine)), name), staged);
  run(stripFor(target, machine), [strip, staged]);
  chmodSync(staged, mode);
  console.log(
    `staged ${path.relative(inRoot(), staged)}: ${Math.ceil(statSync(staged).size / 1024)} KiB`,
  );
}

/** npm and pnpm block or warn about install scripts, and `os` would forbid importing elsewhere. */
function checkManifest({ scripts = {}, os }) {
  for (const name of ["preinstall", "install", "postinstall", "prepare"]) {
    if (name in scripts)
      fail(`package.json has a ${name} script; the package must install without`);
  }
  if (existsSync(inRoot("binding.gyp"))) fail("binding.gyp would make npm run node-gyp at install");
  if (os !== undefined) fail("package.json has an `os` field; importing must work everywhere");
}

checkManifest(packageJson());
const chosen = chosenTargets();
// A build for this machine removes what is staged: all are built before the first is.
for (const target of chosen) {
  const { arch, libc } = target;
  const isForOther = isCross(presetFor(target, machine));
  const words = process.argv.includes("--native-only") || isForOther ? ["--native-only"] : [];
  run(process.execPath, [
    "scripts/build.mjs",
    ...words,
    ...(isForOther ? ["--arch", arch, "--libc", libc] : []),
  ]);
}
for (const target of chosen) {
  stage(target, "native_runner.node", 0o644, "--strip-unneeded");
  stage(target, "launcher", 0o755, "--strip-all");
  run(process.execPath, ["scripts/checks/glibc.mjs", path.join(prebuilds, target.name)]);
}
