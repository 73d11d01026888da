// npm run dev: the development loop. Vitest watches lib/ and its unit tests from the start. When a
// file below native/ changes, the C++ tests that concern it are built (debug) and run, those of its
// folder first, and the addon after them. Ctrl-C ends it.
//   npm run dev -- [VITEST'S ARGUMENTS]     instead of the units, e.g. --project integration runs/
import { spawn } from "node:child_process";
import { watch } from "node:fs";
import path from "node:path";
import { NativeLoop } from "./dev/native-loop.mjs";
import { programsOf } from "./dev/native-rooms.mjs";
import { inRoot, nodeProgram, root } from "./lib/project.mjs";
import { bootstrap } from "./lib/run.mjs";

bootstrap("--no-build");

const given = process.argv.slice(2);
const args = given.length > 0 ? given : ["--project", "unit"];
const vitest = spawn(process.execPath, [nodeProgram("vitest"), "watch", ...args], {
  cwd: root,
  stdio: "inherit",
  env: { ...process.env, OPENAGENTIC_NATIVE_RUNNER_PRESET: "debug" },
});

const loop = new NativeLoop();
vitest.on("exit", (code) => {
  loop.stop();
  process.exit(code ?? 1);
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => vitest.kill(signal));
}

watch(inRoot("native"), { recursive: true }, (_, name) => {
  if (name === null) return;
  const file = path.posix.join("native", name);
  if (programsOf(file) !== undefined) loop.changed(file);
});
loop.start();
