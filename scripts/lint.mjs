// npm run lint: every check that needs no test run. All of them run, then it fails if one did.
//   node scripts/lint.mjs [NAME...]     only the named ones

import { inRoot, nodeProgram } from "./lib/project.mjs";
import { bootstrap, tryRun } from "./lib/run.mjs";

const node = (...args) => tryRun(process.execPath, args);

const checks = {
  biome: () => node(nodeProgram("@biomejs/biome", "biome"), "check"),
  types: () =>
    ["tsconfig.json", inRoot("examples", "demo-node"), inRoot("examples", "opentelemetry")]
      .map((project) => node(nodeProgram("typescript", "tsc"), "-p", project))
      .find((status) => status !== 0) ?? 0,
  format: () => node("scripts/checks/format.mjs"),
  tidy: () => node("scripts/checks/tidy.mjs"),
  includes: () => node("scripts/checks/includes.mjs"),
  sizes: () => node("scripts/checks/sizes.mjs"),
  "addon-types": () => node("scripts/checks/addon-types.mjs"),
  glibc: () => node("scripts/checks/glibc.mjs"),
  shell: () =>
    ["bootstrap", "bench-peers", "lib/packages.sh"]
      .map((file) => tryRun("sh", ["-n", inRoot("scripts", file)]))
      .find((status) => status !== 0) ?? 0,
};

const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(checks);
const unknown = names.filter((name) => !Object.hasOwn(checks, name));
if (unknown.length > 0) {
  console.error(
    `no such check: ${unknown.join(", ")}; there are ${Object.keys(checks).join(", ")}`,
  );
  process.exit(2);
}

bootstrap("--ci");
const failed = [];
for (const name of names) {
  const start = performance.now();
  const status = checks[name]();
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  console.log(`lint ${name}: ${status === 0 ? "ok" : "FAILED"} (${seconds} s)`);
  if (status !== 0) failed.push(name);
}
if (failed.length > 0) {
  console.error(`lint: failed: ${failed.join(", ")}`);
  process.exitCode = 1;
}
