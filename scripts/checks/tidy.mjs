// clang-tidy over the shipped sources that build/release/compile_commands.json lists, one process per
// core (the tests would take twice as long and are seen by the compilers' warnings only). Most of its
// time goes into the standard library's headers, so it gets several files of a room in one go, as a
// source that includes them. Files that were clean are not looked at again until they, their
// commands, a header or .clang-tidy change.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { givenTypes } from "../lib/given-names.mjs";
import { nativeFiles, nativeHeaders } from "../lib/native-sources.mjs";
import { buildDirectory, hashOf, inRoot } from "../lib/project.mjs";
import { fail, outputOf, runBeside } from "../lib/run.mjs";
import { tempDirectory } from "../lib/temp.mjs";
import { batchesOf, includesSource, kBatchName, sourceOf, splits } from "../lib/tidy-batches.mjs";

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
const stampOf = ({ file, command }) => path.join(clean, hashOf([file], shared, command));
const textOf = (file) => readFileSync(file, "utf8");
const kRooms = ["protocol", "policy", "supervise", "effects", "addon"]; // each may see those before it
const roomOf = (file) => path.relative(inRoot("native"), file).split(path.sep)[0];
const takenIn = new Map();
for (const room of [...kRooms, "launcher"]) {
  const seen = room === "launcher" ? [room] : kRooms.slice(0, kRooms.indexOf(room) + 1);
  const headers = nativeHeaders().filter((file) => seen.includes(roomOf(file)));
  takenIn.set(room, new Set(headers.flatMap((file) => givenTypes(textOf(file)))));
}
const takenBy = (file) => takenIn.get(roomOf(file));
const waiting = batchesOf(
  [...commands.values()].filter((entry) => !existsSync(stampOf(entry))),
  { takenBy, textOf },
);

const kFlags = ["--quiet", `--config-file=${inRoot(".clang-tidy")}`];
// How far the static analyzer follows a function: its default, 225,000, takes three times as long for all.
const kMostNodes = Number(process.env.NATIVE_RUNNER_ANALYZER_NODES ?? 50_000);
const kExtra = [
  "-Wno-unknown-warning-option",
  ...["-Xclang", "-analyzer-config", "-Xclang", `max-nodes=${kMostNodes}`],
].map((argument) => `--extra-arg=${argument}`);

/** clang-tidy on the files of a batch; resolves with { code, output }. */
async function tidy(batch) {
  const [{ directory: where, command, file }] = batch;
  const directory = tempDirectory("tidy");
  const source = batch.length === 1 ? file : path.join(directory, kBatchName);
  // A batch includes sources, which is no fault; whether ours do is looked at below.
  const checks = batch.length === 1 ? [] : ["--checks=-bugprone-suspicious-include"];
  if (batch.length > 1) writeFileSync(source, sourceOf(batch));
  const entry = { directory: where, file: source, command: command.replaceAll(file, source) };
  writeFileSync(path.join(directory, "compile_commands.json"), JSON.stringify([entry]));
  return runBeside("clang-tidy", [...kFlags, ...checks, "-p", directory, ...kExtra, source]);
}

/** The positive control: what is planted in a batch must be found there, by matchers and analyzer. */
async function checkThatFaultsAreFound() {
  const directory = path.join(tempDirectory("tidy"), "native");
  mkdirSync(directory);
  const planted = {
    "analyzer.cpp": "int Read(bool b) { int x = 0; int* p = nullptr; if (b) p = &x; return *p; }\n",
    "matcher.cpp": "int badlyNamed() { return 1; }\n",
  };
  const batch = Object.entries(planted).map(([name, text]) => {
    const file = path.join(directory, name);
    writeFileSync(file, text);
    return { directory, file, command: `c++ -std=c++20 -c ${file}` };
  });
  const { output } = await tidy(batch);
  for (const check of ["clang-analyzer-core.NullDereference", "readability-identifier-naming"]) {
    if (!output.includes(check)) fail(`clang-tidy did not find a planted ${check}:\n${output}`);
  }
}

await checkThatFaultsAreFound();
for (const file of nativeFiles().filter((each) => includesSource(readFileSync(each, "utf8")))) {
  fail(`${path.relative(inRoot(), file)} includes a source`);
}

let findings = 0;

async function work() {
  for (let batch = waiting.shift(); batch !== undefined; batch = waiting.shift()) {
    const { code, output } = await tidy(batch);
    if (code === 0) {
      for (const entry of batch) writeFileSync(stampOf(entry), "");
    } else if (batch.length > 1 && splits(output)) {
      waiting.push(...batchesOf(batch, { size: Math.ceil(batch.length / 2) }));
    } else {
      findings += 1;
      console.log(output.replace(/^\d+ warnings?.* generated.*\n/gm, ""));
    }
  }
}

await Promise.all(Array.from({ length: os.availableParallelism() }, work));
if (findings > 0) fail(`clang-tidy: findings in ${findings} places of ${commands.size} files`);
