// The prebuilt binaries must load on every glibc that Node 20 itself runs on (2.28, as in Debian 10
// and RHEL 8): no newer symbol may have slipped in, and the launcher depends on nothing at all. Nor may
// the addon need anything of its host but Node-API: Bun and Deno have neither libuv's nor V8's symbols.
//   node scripts/checks/glibc.mjs [DIRECTORY]     default build/release
import path from "node:path";
import {
  compareVersions,
  isStatic,
  neededLibraries,
  requiredSymbols,
  undefinedSymbols,
} from "../lib/elf.mjs";
import { buildDirectory } from "../lib/project.mjs";
import { fail } from "../lib/run.mjs";

const newest = { GLIBC: "2.28", GLIBCXX: "3.4.25", CXXABI: "1.3.11", GCC: "7.0.0" };

const directory = process.argv[2] ?? buildDirectory("release");
const addon = path.join(directory, "native_runner.node");
const launcher = path.join(directory, "launcher");

const ofTheHost = undefinedSymbols(addon).filter((name) =>
  /^(uv_|_ZNK?2v8|_ZN4node|napi_get_uv_event_loop)/.test(name),
);
if (ofTheHost.length > 0) fail(`the addon needs of its host: ${ofTheHost.join(", ")}`);
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
