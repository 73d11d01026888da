// npm run chaos: random runs, aborts, closes, kills and memory pressure for ten minutes, and then a
// look for anything that was left; see __tests__/stress/chaos. Sets up what is missing first. With
// --as-user root runs it as an ordinary user.
import { spawnSync } from "node:child_process";
import { chmodSync, readdirSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { inRoot, root } from "./lib/project.mjs";
import { bootstrap, fail, run, tryRun } from "./lib/run.mjs";
import { tempDirectory } from "./lib/temp.mjs";

const kNice = 10; // the machine's other users come first

const args = process.argv.slice(2).filter((word) => word !== "--as-user");
const asUser = process.argv.includes("--as-user");
if (asUser && process.getuid() !== 0) fail("--as-user is for root; without it, this runs as you");

const { kUsage, readOptions } = await import("../__tests__/stress/chaos/options.mjs");
let options;
try {
  options = readOptions(args);
} catch (error) {
  console.error(`${error.message}\n\n${kUsage}`);
  process.exit(2);
}
if (options.help) {
  console.log(kUsage);
  process.exit(0);
}

bootstrap();

function buildProbe() {
  const directory = tempDirectory("probe");
  chmodSync(directory, 0o755);
  const sources = inRoot("__tests__", "integration", "probe");
  const files = readdirSync(sources).filter((name) => name.endsWith(".c") && name !== "spy.c");
  const probe = path.join(directory, "probe");
  run(process.env.CC ?? "cc", ["-static", "-O1", ...files, "-o", probe], { cwd: sources });
  return probe;
}

const probe = buildProbe();
const tried = spawnSync("bwrap", ["--unshare-all", "--ro-bind", "/", "/", "true"]);
if (tried.status !== 0) fail("bwrap does not work here: native-runner doctor says why");
os.setPriority(kNice);
const commandIn = async (checkout) =>
  (await import(`${checkout}/__tests__/stress/chaos/start.mjs`)).chaosCommand;

if (asUser) {
  const { makeOrdinaryUser } = await import("./lib/ordinary-user.mjs");
  const user = makeOrdinaryUser();
  const command = (await commandIn(user.checkout))(probe, args, { node: user.node, isRoot: false });
  const [program, ...words] = [...user.before, ...command];
  process.exitCode = tryRun(program, words, user.spawnOptions);
} else {
  const isRoot = process.getuid() === 0;
  const [program, ...words] = (await commandIn(root))(probe, args, { isRoot });
  process.exitCode = tryRun(program, words);
}
