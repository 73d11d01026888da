// npm run dev: the development loop. On every change below native/, an incremental debug build and the
// C++ tests; meanwhile Vitest watches lib/ and its unit tests, with the debug addon. Ctrl-C ends it.
import { spawn } from "node:child_process";
import { watch } from "node:fs";
import { inRoot, nodeProgram, root } from "./lib/project.mjs";
import { bootstrap, runBeside } from "./lib/run.mjs";

bootstrap();

let building = false;
let changed = true;

async function step(file, args) {
  const { code, output } = await runBeside(file, args);
  if (code !== 0) console.error(output);
  return code === 0;
}

async function build() {
  if (building) return;
  building = true;
  while (changed) {
    changed = false;
    const start = performance.now();
    const ok =
      (await step(process.execPath, [
        "scripts/build.mjs",
        "--native-only",
        "--tests",
        "--preset",
        "debug",
      ])) && (await step("ctest", ["--preset", "debug", "--output-on-failure"]));
    console.log(
      `native: ${ok ? "ok" : "FAILED"} (${((performance.now() - start) / 1000).toFixed(1)} s)`,
    );
  }
  building = false;
}

watch(inRoot("native"), { recursive: true }, () => {
  changed = true;
  void build();
});
await build();

const vitest = spawn(process.execPath, [nodeProgram("vitest"), "watch", "--project", "unit"], {
  cwd: root,
  stdio: "inherit",
  env: { ...process.env, OPENAGENTIC_NATIVE_RUNNER_PRESET: "debug" },
});
vitest.on("exit", (code) => process.exit(code ?? 1));
