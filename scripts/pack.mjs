// prepack: builds the release and stages what the tarball carries: dist/ and
// prebuilds/<platform>-<arch>/{native_runner.node,launcher}, stripped. The next build, or postpack
// (`node scripts/pack.mjs --clean`), removes the staged binaries again, as they would hide a build.
import { chmodSync, copyFileSync, existsSync, mkdirSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import { buildDirectory, inRoot, packageJson } from "./lib/project.mjs";
import { fail, run } from "./lib/run.mjs";

const prebuilds = inRoot("prebuilds");

if (process.argv.includes("--clean")) {
  rmSync(prebuilds, { recursive: true, force: true });
  process.exit(0);
}

run(process.execPath, ["scripts/build.mjs"]);
checkManifest(packageJson());

const target = path.join(prebuilds, `${process.platform}-${process.arch}`);
mkdirSync(target, { recursive: true });
stage("native_runner.node", 0o644, "--strip-unneeded");
stage("launcher", 0o755, "--strip-all");
run(process.execPath, ["scripts/checks/glibc.mjs", target]);

function stage(name, mode, strip) {
  const staged = path.join(target, name);
  copyFileSync(path.join(buildDirectory("release"), name), staged);
  run("strip", [strip, staged]);
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
