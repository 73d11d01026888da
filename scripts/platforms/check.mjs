// What is run on a platform, and what counts as a failure.
import { spawnSync } from "node:child_process";
import path from "node:path";
import { runVitest, sumOf } from "../lib/suites.mjs";
import { unexpected } from "./expected.mjs";
import { smoke } from "./smoke.mjs";

function canRun(as, program) {
  const [file, ...args] = [...as.before, program, "--version"];
  return spawnSync(file, args, { ...as.spawnOptions, stdio: "ignore" }).status === 0;
}

/** The suites that look at JavaScript and at what it reaches; the C++ ones are no matter of engines. */
async function suitesIn(node, as) {
  const PATH = `${path.dirname(node)}:${as.env.PATH}`;
  const env = { ...as.env, PATH, NATIVE_RUNNER_TEST_AS: as.user };
  const countsDirectory = as.env.HOME;
  const options = { directory: as.directory, countsDirectory, before: as.before, node };
  const run = (projects) => runVitest(projects, { ...as.spawnOptions, ...options, env });
  return { unit: await run(["unit", "types"]), integration: await run(["integration"]) };
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
  if (suites && platform.node !== undefined) {
    const all = [];
    for (const as of users) all.push(await suitesIn(platform.node, as));
    row.suites = {
      unit: sumOf(all.map(({ unit }) => unit)),
      integration: sumOf(all.map(({ integration }) => integration)),
    };
    for (const [suite, { failed }] of Object.entries(row.suites)) {
      for (const { name, reason } of failed) row.failed.push(`${suite}: ${name}: ${reason}`);
    }
  }
  return row;
}
