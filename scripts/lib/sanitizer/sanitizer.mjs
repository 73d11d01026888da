// How a sanitizer's runtime comes into stock Node, and the reports it leaves.
import { spawnSync } from "node:child_process";
import { chownSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { buildDirectory, inRoot } from "../project.mjs";
import { fail, outputOf, run } from "../run.mjs";
import { tempDirectory } from "../temp.mjs";

const compilerFlags = { asan: "-fsanitize=address", tsan: "-fsanitize=thread" };

function runtimeOf(sanitizer) {
  const file = outputOf("g++", [`-print-file-name=lib${sanitizer}.so`])?.trim() ?? "";
  if (!path.isAbsolute(file)) fail(`g++ has no lib${sanitizer}.so; run scripts/bootstrap --ci`);
  return file;
}

/** thread-stacks.cpp, built. */
function threadStacks(sanitizer) {
  const library = path.join(buildDirectory(sanitizer), "thread-stacks.so");
  const source = inRoot("scripts", "lib", "sanitizer", "thread-stacks.cpp");
  run("g++", ["-std=c++20", "-O2", "-shared", "-fPIC", source, "-o", library]);
  return library;
}

/** The variables that bring a sanitizer's runtime into a Node process. */
function variablesForNode(sanitizer) {
  const runtime = runtimeOf(sanitizer);
  if (sanitizer !== "tsan") return { LD_PRELOAD: runtime };
  return {
    LD_PRELOAD: `${runtime}:${threadStacks(sanitizer)}`,
    NODE_OPTIONS: `--require=${inRoot("scripts", "lib", "sanitizer", "preload-in-node.cjs")}`,
  };
}

/** An empty directory that the reports go to, which a user of that uid may write to. */
function reportsOf(parent, uid) {
  const directory = path.join(parent, "reports");
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  if (uid !== undefined) chownSync(directory, uid, uid);
  return directory;
}

/**
 * `die_after_fork`: a test forks a child in which no thread can be started, and an earlier test's thread may be at its end.
 * ThreadSanitizer would end such a child before it asks for one.
 */
const optionsOfTests = (log) => ({
  ASAN_OPTIONS: `detect_leaks=1:detect_stack_use_after_return=1:${log}`,
  UBSAN_OPTIONS: `print_stacktrace=1:${log}`,
  TSAN_OPTIONS: `second_deadlock_stack=1:die_after_fork=0:${log}`,
});

/** For C++ tests, as the user of a uid who may write in `parent`: their variables, and how to take their reports. */
export function environmentOfTests(parent, uid) {
  const reports = reportsOf(parent, uid);
  const log = `log_path=${path.join(reports, "report")}`;
  return { variables: optionsOfTests(log), takeReports: () => takeReports(reports) };
}

/**
 * The environments to run in. A report may come from a process whose exit code a test looks at for
 * other reasons, so in Node the files decide (`exitcode=0`), not the codes.
 */
export function environmentsOf(sanitizer) {
  const reports = reportsOf(buildDirectory(sanitizer));
  const log = `log_path=${path.join(reports, "report")}`;
  const suppressions = `suppressions=${inRoot("scripts", "tsan.supp")}`;
  const inTests = {
    ...process.env,
    ...optionsOfTests(log),
  };
  const forNode = variablesForNode(sanitizer);
  const lines = Object.entries(forNode).map(([name, value]) => `${name}=${value}`);
  const inNode = {
    ...inTests,
    ...forNode,
    NATIVE_RUNNER_TEST_NODE_ENV: lines.join("\n"), // for Node processes further down
    ASAN_OPTIONS: `detect_leaks=0:${log}`,
    TSAN_OPTIONS: `ignore_noninstrumented_modules=1:exitcode=0:${suppressions}:${log}`,
    OPENAGENTIC_NATIVE_RUNNER_PRESET: sanitizer,
  };
  return { inTests, inNode, takeReports: () => takeReports(reports) };
}

/** What was reported since the last call: [{ name, text }]. */
function takeReports(directory) {
  return readdirSync(directory).map((name) => {
    const file = path.join(directory, name);
    const text = readFileSync(file, "utf8");
    rmSync(file);
    return { name, text };
  });
}

/** The positive control: a planted fault in an addon must be reported. */
export function checkThatFaultsAreFound(sanitizer, { inNode, takeReports }) {
  const addon = path.join(tempDirectory(sanitizer), "fault.node");
  const source = inRoot("scripts", "lib", "sanitizer", "planted-fault.cpp");
  const flags = [compilerFlags[sanitizer], "-g", "-O0", "-shared", "-fPIC", "-pthread"];
  run("g++", [...flags, source, "-o", addon]);
  const script = "try { process.dlopen({ exports: {} }, process.argv[1]); } catch {}";
  spawnSync(process.execPath, ["-e", script, addon], { env: inNode, stdio: "ignore" });
  const reports = takeReports();
  if (!reports.some(({ text }) => text.includes("planted-fault.cpp"))) {
    fail(`${sanitizer} did not report a planted fault; it would not find others either`);
  }
}
