// What is run on a platform, and what counts as a failure.
import { spawnSync } from "node:child_process";
import { chmodSync, symlinkSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { runVitest, sumOf } from "../lib/suites.mjs";
import { tempDirectory } from "../lib/temp.mjs";
import { unexpected } from "./expected.mjs";
import { smoke } from "./smoke.mjs";

function canRun(as, program) {
  const [file, ...args] = [...as.before, program, "--version"];
  return spawnSync(file, args, { ...as.spawnOptions, stdio: "ignore" }).status === 0;
}

/** A directory for PATH with that Node and nothing beside it: programs look for more beside those that they know. */
function directoryOf(program) {
  const directory = tempDirectory("node");
  chmodSync(directory, 0o755);
  symlinkSync(program, path.join(directory, "node"));
  return directory;
}

/**
 * The suites that look at JavaScript and at what it reaches; the C++ ones are no matter of a platform that is here.
 * @param suites `node`, if another than this, or the words that start another engine; `env`, variables; `before`, words in
 * front of the command line, for root to run; `integration`, the files that apply, as Vitest takes them, if not all and the
 * units too.
 * @param isOneOfTwo both root and an ordinary user run them: what does not depend on that is left to the second.
 */
async function suitesIn({ node, env: own, before = [], integration: files }, as, isOneOfTwo) {
  const system = as.node ?? process.execPath;
  const program = typeof node === "string" ? node : system;
  const env = {
    ...as.env,
    PATH: `${directoryOf(program)}:${as.env.PATH}`,
    ...own,
    NATIVE_RUNNER_TEST_AS: as.user,
    NATIVE_RUNNER_TEST_NODE: program,
    NATIVE_RUNNER_TEST_SYSTEM_NODE: system,
  };
  const options = {
    ...as.spawnOptions,
    directory: as.directory,
    countsDirectory: as.home,
    before: [...before, ...as.before],
    node: node ?? as.node,
    prefix: `${as.user} | `,
    files,
    env,
  };
  if (isOneOfTwo) {
    // As `npm test` has it: the second has more to run.
    if (as.user === "root") env.NATIVE_RUNNER_ALSO_AS_USER = "1";
    const processors = os.availableParallelism();
    options.workers = as.user === "root" ? Math.ceil(processors / 2) : processors + 1;
  }
  const unit = files === undefined ? await runVitest(["unit", "types"], options) : undefined;
  return { unit, integration: await runVitest(["integration"], options) };
}

/** Here, as each user. */
async function lookHere(platform, users) {
  const seen = { failed: [] };
  for (const as of users) {
    const needed = platform.needs ?? platform.words[0];
    if (canRun(as, needed)) seen[as.user] = await smoke(platform, as);
    else seen.failed.push(`${as.user}: ${needed} can't be run`);
  }
  return seen;
}

/** @returns a row of the table, with `failed`: a line for each failure. */
export async function checkPlatform(platform, users, { suites }) {
  const date = new Date().toISOString().slice(0, 10);
  const { look = () => lookHere(platform, users) } = platform;
  const row = { name: platform.name, how: platform.how, date, ...(await look(users)) };
  for (const user of ["root", "user"]) {
    const { failed = [], leftOut = [] } = row[user] ?? {};
    const surprises = unexpected(platform.name, user, leftOut);
    for (const line of failed) row.failed.push(`${user}: ${line}`);
    for (const line of surprises) row.failed.push(`${user}: left out, unexpectedly: ${line}`);
  }
  for (const { name, reason } of row.units?.failed ?? []) {
    row.failed.push(`C++: ${name}: ${reason}`);
  }
  if (suites && platform.suites !== undefined) {
    const isOneOfTwo = users.length > 1;
    const all = await Promise.all(users.map((as) => suitesIn(platform.suites, as, isOneOfTwo)));
    const sum = (suite) => sumOf(all.flatMap((each) => each[suite] ?? []));
    row.suites = { unit: sum("unit"), integration: sum("integration") };
    for (const [suite, { failed }] of Object.entries(row.suites)) {
      for (const { name, reason } of failed) row.failed.push(`${suite}: ${name}: ${reason}`);
    }
  }
  return row;
}
