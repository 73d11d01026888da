// The package on musl, as Alpine has it: built by Zig for it, in Bun's build for it, under Debian's musl.
// Bun wants the libstdc++ of a musl system, which none of the registries has: Debian's own stands in.
import { readFileSync } from "node:fs";
import path from "node:path";
import { installLocked } from "../../lib/npm/install.mjs";
import { zigProgram } from "../../lib/npm/zig.mjs";
import { buildDirectory, inRoot } from "../../lib/project.mjs";
import { runQuietly } from "../../lib/run.mjs";
import { cacheDirectory } from "../cache.mjs";
import { DebianSuite, whyNoSuites } from "../debian-suite.mjs";
import { packageTree } from "../package-tree.mjs";
import { smoke } from "../smoke.mjs";

const kFolder = "scripts/platforms/musl";
const kBun = "@oven/bun-linux-x64-musl";
const kTarget = "x86_64-linux-musl";
const kSuite = "trixie"; // of musl
const kLibrarySuite = "bookworm"; // of libstdc++: newer ones want more of glibc

/** Files by name, linked from one directory, in which musl's loader looks. */
function libraries() {
  const directory = cacheDirectory("musl", "libraries");
  const suite = new DebianSuite(kLibrarySuite);
  const files = [
    ["libstdc++6", "usr/lib/x86_64-linux-gnu/libstdc++.so.6"],
    ["libgcc-s1", "lib/x86_64-linux-gnu/libgcc_s.so.1"],
  ];
  for (const [name, file] of files) {
    const from = path.join(suite.unpacked(name), file);
    runQuietly("cp", ["-L", from, path.join(directory, path.basename(file))]);
  }
  const missing = path.join(directory, "ld-linux-x86-64.so.2");
  const source = inRoot(kFolder, "missing.c");
  const words = ["cc", "-target", kTarget, "-shared", "-fPIC", "-O1", "-o", missing, source];
  runQuietly(zigProgram(), words);
  return directory;
}

async function look(users) {
  const why = whyNoSuites();
  if (why !== undefined) return { failed: [why] };
  runQuietly(process.execPath, ["scripts/build.mjs", "--native-only", "--libc", "musl"]);
  const suite = new DebianSuite(kSuite);
  const loader = path.join(suite.unpacked("musl"), "usr/lib/ld-musl-x86_64.so.1");
  const modules = installLocked(kFolder, cacheDirectory("musl", "bun"), ["--force"]);
  const bun = path.join(modules, kBun, "bin/bun");
  const words = [loader, "--library-path", libraries(), bun];
  const directory = packageTree(buildDirectory("linux-x64-musl"), { withTests: false });
  const seen = { failed: [] };
  for (const as of users) seen[as.user] = await smoke({ words }, { ...as, directory });
  return { ...seen, how: `Debian's musl ${suite.versionOf("musl")}, Bun's own build for it` };
}

export function musl() {
  if (process.arch !== "x64") return [];
  const { dependencies } = JSON.parse(readFileSync(inRoot(kFolder, "package.json"), "utf8"));
  return [{ name: `Bun ${dependencies[kBun]} on musl`, slow: true, look }];
}
