// npm run bench:docs [-- FILE]: the pages and plots in docs/benchmarks, from what `npm run bench --
// --json FILE` wrote (bench-results.json).
import { existsSync } from "node:fs";
import path from "node:path";
import { root } from "./lib/project.mjs";
import { bootstrap, fail } from "./lib/run.mjs";

const [file = "bench-results.json", ...others] = process.argv.slice(2);
if (others.length > 0)
  fail(`npm run bench:docs takes one file, got ${[file, ...others].join(" ")}`);
if (!existsSync(file)) fail(`${file} is not there; npm run bench -- --json ${file} makes it`);

bootstrap();

// Needs what bootstrap has just installed and built.
const { writeDocs } = await import("../bench/docs.mjs");
for (const written of await writeDocs(file)) console.log(path.relative(root, written));
