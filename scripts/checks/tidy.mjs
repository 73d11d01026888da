// clang-tidy over the shipped sources of build/release/compile_commands.json, one process per core. (The
// tests are left to the compilers' warnings.) Most of its time goes into headers, so it reads the sources of
// a folder as one, as the build does. A folder that was clean is not read again until one of its sources, a
// header that those reach, its command or .clang-tidy changes.
//   node scripts/checks/tidy.mjs [--analyzer]     also Clang's static analyzer, which takes many times as long
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { nativeFiles } from "../lib/native-sources.mjs";
import { buildDirectory, hashOf, inRoot } from "../lib/project.mjs";
import { fail, outputOf, run, runBeside } from "../lib/run.mjs";
import { tempDirectory } from "../lib/temp.mjs";

const withAnalyzer = process.argv.includes("--analyzer");
run(process.execPath, ["scripts/build.mjs", "--native-only"]); // also makes the filters that sources include
const database = path.join(buildDirectory("release"), "compile_commands.json");
const version = outputOf("clang-tidy", ["--version"]) ?? fail("no clang-tidy here");
const clean = inRoot("build", "tidy");
mkdirSync(clean, { recursive: true });

const textOf = (file) => readFileSync(file, "utf8");
const kIncluded = /^[ \t]*#[ \t]*include[ \t]+"([^"\n]+)"/gm;
const includedBy = (file) => [...textOf(file).matchAll(kIncluded)].map(([, name]) => name);

/** A source and the headers of ours that it reaches. */
function reachedFrom(file, reached = new Set()) {
  if (reached.has(file)) return reached;
  reached.add(file);
  for (const name of includedBy(file)) {
    const header = inRoot("native", name);
    if (existsSync(header)) reachedFrom(header, reached);
  }
  return reached;
}

/** The sources behind an entry of the database: its own, or those that CMake has joined in it. */
const sourcesOf = ({ file }) => (file.startsWith(inRoot("native")) ? [file] : includedBy(file));

/** The compiler's precompiled headers are not Clang's. */
const withoutPch = (command) => command.replace(/ -Winvalid-pch| -include \S+cmake_pch\.hxx/g, "");

const isShipped = (sources) =>
  sources.length > 0 &&
  sources.every(
    (file) => file.startsWith(inRoot("native")) && !file.startsWith(inRoot("native/tests")),
  );
const folders = JSON.parse(textOf(database))
  .map((entry) => ({ ...entry, sources: sourcesOf(entry), command: withoutPch(entry.command) }))
  .filter(({ sources }) => isShipped(sources));
if (folders.length === 0) fail(`no shipped sources in ${database}`);

function stampOf({ command, sources }) {
  const files = [...new Set(sources.flatMap((source) => [...reachedFrom(source)]))].sort();
  return path.join(
    clean,
    hashOf([inRoot(".clang-tidy"), ...files], version, command, String(withAnalyzer)),
  );
}

// How far the static analyzer follows a function: its default, 225,000, takes three times as long for all.
const kMostNodes = Number(process.env.NATIVE_RUNNER_ANALYZER_NODES ?? 50_000);
const kExtra = [
  "-Wno-unknown-warning-option",
  ...["-Xclang", "-analyzer-config", "-Xclang", `max-nodes=${kMostNodes}`],
].map((argument) => `--extra-arg=${argument}`);
// The joined source includes sources, which is no fault; whether ours do is looked at below.
const kChecks = `--checks=-bugprone-suspicious-include${withAnalyzer ? "" : ",-clang-analyzer-*"}`;

/** clang-tidy on some sources as one; resolves with { code, output }. */
async function tidy({ directory: where, command, file, sources }) {
  const directory = tempDirectory("tidy");
  // So named, the analyzer looks into the sources that it includes as into a main file.
  const source = path.join(directory, "UnifiedSource.cpp");
  writeFileSync(source, sources.map((each) => `#include "${each}"\n`).join(""));
  const entry = { directory: where, file: source, command: command.replaceAll(file, source) };
  writeFileSync(path.join(directory, "compile_commands.json"), JSON.stringify([entry]));
  const config = `--config-file=${inRoot(".clang-tidy")}`;
  const flags = ["--quiet", config, kChecks, "-p", directory, ...kExtra];
  return runBeside("clang-tidy", [...flags, source]);
}

/** The positive control: what is planted must be found, by matchers and, where it runs, by the analyzer. */
async function checkThatFaultsAreFound() {
  const directory = path.join(tempDirectory("tidy"), "native");
  mkdirSync(directory);
  const planted = {
    "analyzer.cpp": "int Read(bool b) { int x = 0; int* p = nullptr; if (b) p = &x; return *p; }\n",
    "matcher.cpp": "int badlyNamed() { return 1; }\n",
  };
  const sources = Object.entries(planted).map(([name, text]) => {
    writeFileSync(path.join(directory, name), text);
    return path.join(directory, name);
  });
  const file = sources[0];
  const { output } = await tidy({
    directory,
    file,
    command: `c++ -std=c++20 -c ${file}`,
    sources,
  });
  const analyzed = withAnalyzer ? ["clang-analyzer-core.NullDereference"] : [];
  for (const check of [...analyzed, "readability-identifier-naming"]) {
    if (!output.includes(check)) fail(`clang-tidy did not find a planted ${check}:\n${output}`);
  }
}

await checkThatFaultsAreFound();
const isSource = (name) => /\.(c|cc|cpp)$/.test(name);
for (const file of nativeFiles().filter((each) => includedBy(each).some(isSource))) {
  fail(`${path.relative(inRoot(), file)} includes a source`);
}

let findings = 0;
// The longest first, so that the processes end together.
const sizeOf = ({ sources }) => sources.reduce((sum, file) => sum + textOf(file).length, 0);
const waiting = folders
  .filter((folder) => !existsSync(stampOf(folder)))
  .sort((one, other) => sizeOf(other) - sizeOf(one));

async function work() {
  for (let folder = waiting.shift(); folder !== undefined; folder = waiting.shift()) {
    const { code, output } = await tidy(folder);
    if (code === 0) {
      writeFileSync(stampOf(folder), "");
    } else {
      findings += 1;
      console.log(output.replace(/^\d+ warnings?.* generated.*\n/gm, ""));
    }
  }
}

await Promise.all(Array.from({ length: os.availableParallelism() }, work));
if (findings > 0) fail(`clang-tidy: findings in ${findings} of ${folders.length} folders`);
