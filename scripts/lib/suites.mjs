// Runs Vitest, and adds counts of test suites up: { passed, failed, skipped }, the last two being lists
// of { name, reason }.
import { existsSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { nodeProgram, root } from "./project.mjs";
import { tryRunBeside } from "./run.mjs";
import { durationText } from "./steps.mjs";
import { tempDirectory } from "./temp.mjs";

/**
 * Projects of the Vitest configuration, in the checkout or a copy of it; of their files those that `files` has, if it is
 * given. `node` is Node.js, or the words that start another engine. `before`, words in front of the command line, and
 * `spawnOptions` (uid, env …) say as whom; that user must be able to write in `countsDirectory`. `prefix` goes before each
 * line of output; `workers` is how many files are run at a time, if not what the configuration says.
 */
export async function runVitest(projects, options = {}) {
  const { directory = root, countsDirectory, node = process.execPath, ...others } = options;
  const { before = [], files = [], workers, ...spawnOptions } = others;
  const countsFile = path.join(countsDirectory ?? tempDirectory("vitest"), "counts.json");
  const reporter = path.join(directory, "scripts", "lib", "count-reporter.mjs");
  const vitest = path.relative(root, nodeProgram("vitest"));
  const args = [
    path.resolve(directory, vitest),
    "run",
    ...files,
    ...projects.flatMap((project) => ["--project", project]),
    "--reporter=default",
    `--reporter=${reporter}`,
  ];
  const env = { ...(options.env ?? process.env), COUNTS_FILE: countsFile };
  if (workers !== undefined) env.VITEST_MAX_WORKERS = String(workers); // also above a project's own
  const [program, ...words] = [...before, ...[node].flat(), ...args];
  rmSync(countsFile, { force: true }); // an earlier run's
  const status = await tryRunBeside(program, words, { ...spawnOptions, cwd: directory, env });
  if (!existsSync(countsFile)) {
    console.error(`vitest (${projects.join(", ")}) wrote no results (${status})`);
    const failed = [{ name: `vitest (${projects.join(", ")})`, reason: "it wrote no results" }];
    return { passed: 0, failed, skipped: [] };
  }
  const { files: timed, ...counts } = JSON.parse(readFileSync(countsFile, "utf8"));
  printSlowest(timed, options.prefix ?? "");
  return atLeastOneFailure(projects, counts, status);
}

const kSlowest = 30;

/** The files that took longest, so that a log shows where the next minute can be saved. */
function printSlowest(files, prefix) {
  const total = files.reduce((sum, { seconds }) => sum + seconds, 0);
  console.log(`${prefix}slowest of ${files.length} files, of ${durationText(total)}:`);
  for (const { name, seconds } of files
    .toSorted((a, b) => b.seconds - a.seconds)
    .slice(0, kSlowest))
    console.log(`${prefix}  ${durationText(seconds).padStart(12)}  ${name}`);
}

/** A runner that fails without a failed test (no tests found, a crash) must not count as a success. */
function atLeastOneFailure(projects, counts, status) {
  if (status === 0 || counts.failed.length > 0) return counts;
  const name = `vitest (${projects.join(", ")})`;
  return { ...counts, failed: [{ name, reason: `it ended with ${status}` }] };
}

export function sumOf(results) {
  return {
    passed: results.reduce((sum, result) => sum + result.passed, 0),
    failed: results.flatMap((result) => result.failed),
    skipped: results.flatMap((result) => result.skipped),
  };
}

/** The log of a machine that is gone is all that there will be of a failure that comes once in a hundred runs. */
const kMostReason = { skipped: 400, failed: 3000 };

/** One line each, so that the end of a long output tells it all. */
function printNamed(word, tests) {
  for (const { name, reason } of tests) {
    const line = (reason || "no reason given").replaceAll(/\s+/g, " ").trim();
    console.log(`${word}: ${name}: ${line.slice(0, kMostReason[word])}`);
  }
}

/** What was skipped and what failed, each with its reason, and the plain closing line; also the exit code. */
export function closeWith(word, { passed, failed, skipped }) {
  printNamed("skipped", skipped);
  printNamed("failed", failed);
  const line = `${word}: ${passed} passed, ${failed.length} failed, ${skipped.length} skipped`;
  console.log(line);
  process.exitCode = failed.length === 0 && passed > 0 ? 0 : 1;
  return line;
}
