// The prebuilt binaries must load on every glibc that Node 20 itself runs on (2.28, as in Debian 10
// and RHEL 8): no newer symbol may have slipped in, and the launcher depends on nothing at all. Nor may
// the addon need anything of its host but Node-API: Bun and Deno have neither libuv's nor V8's symbols.
//   node scripts/checks/glibc.mjs [DIRECTORY]     default build/release
import path from "node:path";
import { isStatic, newest, outsideOf } from "../lib/elf.mjs";
import { buildDirectory } from "../lib/project.mjs";
import { fail } from "../lib/run.mjs";

const directory = process.argv[2] ?? buildDirectory("release");
const { complaints, glibc } = outsideOf(path.join(directory, "native_runner.node"));
if (complaints.length > 0) fail(complaints.join("\n"));
if (glibc === undefined) {
  console.log("built against musl: the glibc check does not apply");
  process.exit(0);
}
if (!isStatic(path.join(directory, "launcher"))) fail("the launcher is not static");
console.log(
  `oldest glibc the addon loads on: ${glibc} (at most ${newest.GLIBC}); launcher: static`,
);
