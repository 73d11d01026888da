// The prebuilt binaries must load on every glibc that Node 20 itself runs on (2.28, as in Debian 10
// and RHEL 8): no newer symbol may have slipped in, and the launcher depends on nothing at all.
//   node scripts/checks/glibc.mjs [DIRECTORY]     default build/release
import path from "node:path";
import { compareVersions, isStatic, neededLibraries, requiredSymbols } from "../lib/elf.mjs";
import { buildDirectory } from "../lib/project.mjs";
import { fail } from "../lib/run.mjs";

const newest = { GLIBC: "2.28", GLIBCXX: "3.4.25", CXXABI: "1.3.11", GCC: "7.0.0" };

const directory = process.argv[2] ?? buildDirectory("release");
const addon = path.join(directory, "native_runner.node");
const launcher = path.join(directory, "launcher");

if (neededLibraries(addon).some((name) => name.includes("musl"))) {
  console.log("built against musl: the glibc check does not apply");
  process.exit(0);
}
const symbols = requiredSymbols(addon);
const tooNew = symbols.filter(
  ({ library, version }) => compareVersions(version, newest[library]) > 0,
);
for (const { symbol, library, version } of tooNew) {
  console.error(`${path.basename(addon)} needs ${symbol}@${library}_${version}`);
}
if (tooNew.length > 0) fail(`newer than glibc ${newest.GLIBC} or libstdc++ of GCC 8 has`);
if (!isStatic(launcher)) fail("the launcher is not static");

const needs = symbols.filter(({ library }) => library === "GLIBC").map(({ version }) => version);
const needed = needs.sort(compareVersions).at(-1) ?? "none";
console.log(
  `oldest glibc the addon loads on: ${needed} (at most ${newest.GLIBC}); launcher: static`,
);
