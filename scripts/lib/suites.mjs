// Runs the test suites; each function returns { passed, failed, skipped: [{ name, reason }] }.
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { buildDirectory, nodeProgram, root } from "./project.mjs";
import { fail, tryRun } from "./run.mjs";
import { tempDirectory } from "./temp.mjs";

const attribute = (tag, name) => tag.match(new RegExp(`\\b${name}="([^"]*)"`))?.[1] ?? "";
const unescapeXml = (text) =>
  text
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&amp;", "&");

/** GoogleTest prints "FILE:LINE: Skipped" and then what GTEST_SKIP() was given. */
function gtestReason(testcase) {
  return unescapeXml(testcase.match(/: Skipped\r?\n(.*)/)?.[1] ?? "");
}

function readJunit(file) {
  const xml = readFileSync(file, "utf8");
  const suite = xml.match(/<testsuite\b[^>]*>/)?.[0] ?? "";
  const skipped = [...xml.matchAll(/<testcase\b[\s\S]*?<\/testcase>/g)]
    .map(([testcase]) => testcase)
    .filter((testcase) => /<skipped\b/.test(testcase))
    .map((testcase) => ({
      name: unescapeXml(attribute(testcase, "name")),
      reason: gtestReason(testcase),
    }));
  const disabled = Number(attribute(suite, "disabled"));
  const failed = Number(attribute(suite, "failures"));
  const total = Number(attribute(suite, "tests"));
  for (let i = 0; i < disabled; i++) skipped.push({ name: "disabled in CMake", reason: "" });
  return { passed: total - failed - skipped.length, failed, skipped };
}

/** The C++ tests of a built preset. */
export function runCtest(preset, options = {}) {
  const junit = path.join(tempDirectory("ctest"), "junit.xml");
  const args = [
    "--preset",
    preset,
    "--output-on-failure",
    "--no-tests=error",
    "--output-junit",
    junit,
  ];
  const status = tryRun("ctest", args, options);
  if (!existsSync(junit)) fail(`ctest --preset ${preset} wrote no results (${status})`);
  return atLeastOneFailure(readJunit(junit), status);
}

/** What GoogleTest's own report says; its skips are as above. */
function readGtest(file) {
  const xml = readFileSync(file, "utf8");
  const all = xml.match(/<testsuites\b[^>]*>/)?.[0] ?? "";
  const skipped = [
    ...xml.matchAll(/<testcase\b[^>]*result="skipped"[^>]*>([\s\S]*?)<\/testcase>/g),
  ];
  const failed = Number(attribute(all, "failures")) + Number(attribute(all, "errors"));
  return {
    passed: Number(attribute(all, "tests")) - failed - skipped.length,
    failed,
    skipped: skipped.map(([testcase, inside]) => ({
      name: `${attribute(testcase, "classname")}.${attribute(testcase, "name")}`,
      reason: inside.match(/<!\[CDATA\[[^\n]*\n([\s\S]*?)\]\]>/)?.[1] ?? "",
    })),
  };
}

const kGtestBoundMs = 15 * 60_000;

/** One built executable of C++ tests in a copy of the checkout; `options` as for runVitest. */
export function runGtest(name, options) {
  const { directory, countsDirectory, before, env, ...spawnOptions } = options;
  const build = path.join(directory, path.relative(root, buildDirectory("release")));
  const report = path.join(countsDirectory, `${name}.xml`);
  const tests = path.join(build, "native", "tests");
  const [program, ...words] = [...before, path.join(tests, name), `--gtest_output=xml:${report}`];
  const status = tryRun(program, words, {
    ...spawnOptions,
    cwd: directory,
    timeout: kGtestBoundMs,
    env: {
      ...env,
      GTEST_BRIEF: "1",
      NATIVE_RUNNER_LAUNCHER: path.join(build, "launcher"),
      NATIVE_RUNNER_LAUNCHER_PROBE: path.join(tests, "launcher_probe"),
    },
  });
  if (!existsSync(report)) fail(`${name} wrote no results (${status})`);
  return atLeastOneFailure(readGtest(report), status);
}

/**
 * Projects of the Vitest configuration, in the checkout or a copy of it. `before`, words in front of
 * the command line, and `spawnOptions` (uid, env …) say as whom; that user must be able to write in
 * `countsDirectory`.
 */
export function runVitest(projects, options = {}) {
  const { directory = root, countsDirectory, node = process.execPath, ...others } = options;
  const { before = [], ...spawnOptions } = others;
  const countsFile = path.join(countsDirectory ?? tempDirectory("vitest"), "counts.json");
  const reporter = path.join(directory, "scripts", "lib", "count-reporter.mjs");
  const vitest = path.relative(root, nodeProgram("vitest"));
  const args = [
    path.resolve(directory, vitest),
    "run",
    ...projects.flatMap((project) => ["--project", project]),
    "--reporter=default",
    `--reporter=${reporter}`,
  ];
  const env = { ...(options.env ?? process.env), COUNTS_FILE: countsFile };
  const [program, ...words] = [...before, node, ...args];
  const status = tryRun(program, words, { ...spawnOptions, cwd: directory, env });
  if (!existsSync(countsFile)) fail(`vitest (${projects.join(", ")}) wrote no results (${status})`);
  return atLeastOneFailure(JSON.parse(readFileSync(countsFile, "utf8")), status);
}

/** A runner that fails without a failed test (no tests found, a crash) must not count as a success. */
function atLeastOneFailure(counts, status) {
  return status !== 0 && counts.failed === 0 ? { ...counts, failed: 1 } : counts;
}

export function sumOf(results) {
  return {
    passed: results.reduce((sum, result) => sum + result.passed, 0),
    failed: results.reduce((sum, result) => sum + result.failed, 0),
    skipped: results.flatMap((result) => result.skipped),
  };
}

export function printSkipped(skipped) {
  for (const { name, reason } of skipped) {
    console.log(`skipped: ${name}: ${reason || "no reason given"}`);
  }
}

/** The plain closing line; also the exit code. */
export function closeWith(word, { passed, failed, skipped }) {
  const line = `${word}: ${passed} passed, ${failed} failed, ${skipped.length} skipped`;
  console.log(line);
  process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
  return line;
}
