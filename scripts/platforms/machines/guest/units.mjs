// The C++ tests that look at the kernel, in an emulated machine; prints their counts as a line of JSON.
//   node units.mjs SLOW
import path from "node:path";
import { runGtest } from "../../../lib/gtest.mjs";
import { buildDirectory } from "../../../lib/project.mjs";

const kProgramsTested = ["launcher_tests", "supervise_tests"];
const kBoundMs = 120_000; // of one test, on a machine of its own

const slow = Number(process.argv[2]);
const build = buildDirectory("release");
const tests = path.join(build, "native", "tests");
for (const program of kProgramsTested) {
  const counts = await runGtest([path.join(tests, program)], {
    boundMs: kBoundMs * slow,
    cwd: process.cwd(),
    env: {
      ...process.env,
      NATIVE_RUNNER_SLOW: String(slow),
      NATIVE_RUNNER_LAUNCHER: path.join(build, "launcher"),
      NATIVE_RUNNER_LAUNCHER_PROBE: path.join(tests, "launcher_probe"),
    },
  });
  console.log(JSON.stringify({ program, ...counts }));
}
