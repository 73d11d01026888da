// clang-tidy over the shipped sources that build/release/compile_commands.json lists, one per core
// (the tests would take twice as long and are seen by the compilers' warnings only). A file that was
// clean is not looked at again until it, its command, a header or .clang-tidy changes.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { nativeHeaders } from "../lib/native-sources.mjs";
import { buildDirectory, hashOf, inRoot } from "../lib/project.mjs";
import { fail, outputOf, runBeside } from "../lib/run.mjs";

const database = path.join(buildDirectory("release"), "compile_commands.json");
if (!existsSync(database)) fail("no build/release/compile_commands.json; run npm run build first");

const version = outputOf("clang-tidy", ["--version"]) ?? fail("no clang-tidy here");
const clean = inRoot("build", "tidy");
mkdirSync(clean, { recursive: true });

const shared = hashOf([inRoot(".clang-tidy"), ...nativeHeaders()], version);
const commands = new Map(
  JSON.parse(readFileSync(database, "utf8"))
    .filter(
      ({ file }) => file.startsWith(inRoot("native")) && !file.startsWith(inRoot("native/tests")),
    )
    .map((entry) => [entry.file, entry]),
);
const waiting = [...commands.values()]
  .map(({ file, command }) => ({ file, stamp: path.join(clean, hashOf([file], shared, command)) }))
  .filter(({ stamp }) => !existsSync(stamp));

let failures = 0;

async function work() {
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const args = [
      "--quiet",
      "-p",
      path.dirname(database),
      "--extra-arg=-Wno-unknown-warning-option",
    ];
    const { code, output } = await runBeside("clang-tidy", [...args, next.file]);
    if (code === 0) {
      writeFileSync(next.stamp, "");
      continue;
    }
    failures += 1;
    console.log(output.replace(/^\d+ warnings?.* generated.*\n/gm, ""));
  }
}

await Promise.all(Array.from({ length: os.availableParallelism() }, work));
if (failures > 0) fail(`clang-tidy: ${failures} of ${commands.size} files have findings`);
