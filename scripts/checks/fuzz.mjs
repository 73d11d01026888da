// Builds the fuzz targets (clang, libFuzzer) and runs each for ten seconds. What they found
// worth keeping stays in build/fuzz/corpus, a crashing input in build/fuzz/crashes.
import { mkdirSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { buildDirectory, filesBelow } from "../lib/project.mjs";
import { bootstrap, fail, run, tryRun } from "../lib/run.mjs";

const { values } = parseArgs({ options: { seconds: { type: "string", default: "10" } } });
const seconds = Number(values.seconds);
if (!(seconds > 0)) fail(`--seconds: expected a positive number, got ${values.seconds}`);

bootstrap("--ci");
run(process.execPath, ["scripts/build.mjs", "--native-only", "--preset", "fuzz"]);

const build = buildDirectory("fuzz");
const targets = filesBelow("build/fuzz").filter((file) => /^fuzz_\w+$/.test(path.basename(file)));
if (targets.length === 0) fail(`no fuzz targets in ${build}`);

let failed = 0;
for (const target of targets) {
  const name = path.basename(target);
  const corpus = path.join(build, "corpus", name);
  const crashes = path.join(build, "crashes", name);
  for (const directory of [corpus, crashes]) mkdirSync(directory, { recursive: true });
  console.log(`== ${name}, ${seconds} s`);
  const status = tryRun(target, [
    `-max_total_time=${seconds}`,
    "-timeout=10",
    "-rss_limit_mb=2048",
    "-verbosity=0",
    "-print_final_stats=1",
    `-artifact_prefix=${crashes}/`,
    corpus,
  ]);
  if (status !== 0) failed += 1;
}
console.log(`fuzz: ${targets.length - failed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
