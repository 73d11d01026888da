// The prebuilt binaries must load on every glibc that Node 20 itself runs on (2.28, as in Debian 10
// and RHEL 8): no newer symbol may have slipped in, and the launcher depends on nothing at all. Nor may
// the addon need anything of its host but Node-API: Bun and Deno have neither libuv's nor V8's symbols.
//   node scripts/checks/glibc.mjs [DIRECTORY]     default build/release
import path from "node:path";
import { pathToFileURL } from "node:url";
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

/** What an addon needs from outside: what of it is too much, and the glibc it wants; undefined: it wants musl. */
export function outsideOf(addon) {
  const ofTheHost = undefinedSymbols(addon).filter((name) =>
    /^(uv_|_ZNK?2v8|_ZN4node|napi_get_uv_event_loop)/.test(name),
  );
  const complaints = ofTheHost.map((name) => `the addon needs ${name} of its host`);
  if (neededLibraries(addon).some((name) => name.includes("musl"))) {
    return { complaints, glibc: undefined };
  }
  const symbols = requiredSymbols(addon);
  for (const { symbol, library, version } of symbols) {
    if (compareVersions(version, newest[library]) <= 0) continue;
    complaints.push(
      `the addon needs ${symbol}@${library}_${version}: newer than glibc ${newest.GLIBC} or libstdc++ of GCC 8 has`,
    );
  }
  const needs = symbols.filter(({ library }) => library === "GLIBC").map(({ version }) => version);
  return { complaints, glibc: needs.sort(compareVersions).at(-1) ?? "none" };
}

function main(directory) {
  const { complaints, glibc } = outsideOf(path.join(directory, "native_runner.node"));
  if (complaints.length > 0) fail(complaints.join("\n"));
  if (glibc === undefined) {
    console.log("built against musl: the glibc check does not apply");
    return;
  }
  if (!isStatic(path.join(directory, "launcher"))) fail("the launcher is not static");
  console.log(
    `oldest glibc the addon loads on: ${glibc} (at most ${newest.GLIBC}); launcher: static`,
  );
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  main(process.argv[2] ?? buildDirectory("release"));
}
