// node scripts/check.mjs NAME... [--all]: the checks of this repository, each by its name, or groups of them.
// All that were named run, then it fails if one did. `npm run lint`, `check:deep` and .ci/run call it.
//   NAME    a check (biome, types, format, tidy, includes, class-names, addon-types, glibc, shell, asan, tsan, fuzz, pack,
//           platforms, units, as-root, stress, leftovers), or a group: lint, deep
//   --all   the long form of a check: the static analyzer (tidy), the integration suite too (asan, tsan), each
//           way to install (pack), a minute for each target (fuzz)
import { inRoot, nodeProgram } from "./lib/project.mjs";
import { bootstrap, tryRun } from "./lib/run.mjs";

const isAll = process.argv.includes("--all");
const node = (...args) => tryRun(process.execPath, args);
const check = (name, ...args) => node(`scripts/checks/${name}.mjs`, ...args);
const firstFailure = (statuses) => statuses.find((status) => status !== 0) ?? 0;

const kProjects = ["tsconfig.json", "web/review", "examples/demo-node", "examples/opentelemetry"];
const kShellScripts = ["bootstrap", "bench-peers", "lib/packages.sh"];

const checks = {
  biome: () => node(nodeProgram("@biomejs/biome", "biome"), "check"),
  types: () =>
    firstFailure(
      kProjects.map((project) => node(nodeProgram("typescript", "tsc"), "-p", inRoot(project))),
    ),
  format: () => check("format"),
  tidy: () => check("tidy", ...(isAll ? ["--analyzer"] : [])),
  includes: () => check("includes"),
  "class-names": () => check("class-names"),
  "addon-types": () => check("addon-types"),
  glibc: () => check("glibc"),
  shell: () =>
    firstFailure(kShellScripts.map((file) => tryRun("sh", ["-n", inRoot("scripts", file)]))),
  asan: () => check("sanitizer", "asan", ...(isAll ? [] : ["--units"])),
  tsan: () => check("sanitizer", "tsan", ...(isAll ? [] : ["--units"])),
  fuzz: () => check("fuzz", ...(isAll ? ["--seconds", "60"] : [])),
  pack: () => check("pack", ...(isAll ? ["--all"] : [])),
  units: () => node("scripts/test.mjs", "--units"),
  "as-root": () => {
    if (process.getuid() === 0) return node("scripts/test.mjs", "--as-root");
    console.log("skipped: as-root: this is not root");
    return 0;
  },
  stress: () => node("scripts/test.mjs", "--stress"),
  platforms: () => node("scripts/platforms.mjs"),
  leftovers: () => check("leftovers"),
};

const groups = {
  lint: [
    "biome",
    "types",
    "format",
    "tidy",
    "includes",
    "class-names",
    "addon-types",
    "glibc",
    "shell",
  ],
  // What takes too long for each landing: before an issue is called done, and before a release.
  deep: ["tidy", "units", "as-root", "asan", "tsan", "fuzz", "stress", "pack", "platforms"],
};

const named = process.argv.slice(2).filter((word) => word !== "--all");
const unknown = named.filter((name) => !Object.hasOwn({ ...checks, ...groups }, name));
if (named.length === 0 || unknown.length > 0) {
  const known = [...Object.keys(checks), ...Object.keys(groups)].join(", ");
  console.error(
    unknown.length > 0
      ? `no such check: ${unknown.join(", ")}; expected one of ${known}`
      : `usage: node scripts/check.mjs NAME... [--all]; NAME is one of ${known}`,
  );
  process.exit(2);
}

bootstrap("--ci", "--no-build");
const failed = [];
for (const name of new Set(named.flatMap((each) => groups[each] ?? each))) {
  const start = performance.now();
  const status = checks[name]();
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  console.log(`check ${name}: ${status === 0 ? "ok" : "FAILED"} (${seconds} s)`);
  if (status !== 0) failed.push(name);
}
if (failed.length > 0) {
  console.error(`failed: ${failed.join(", ")}`);
  process.exitCode = 1;
}
