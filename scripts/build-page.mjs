// Bundles the review page (web/review) into dist/review/page, where lib/review serves it from:
//
//   node scripts/build-page.mjs
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

import { licencesOf } from "./lib/licences.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const page = `${root}dist/review/page`;

rmSync(page, { recursive: true, force: true });
mkdirSync(page, { recursive: true });
const { metafile } = await build({
  metafile: true,
  absWorkingDir: root,
  entryPoints: ["web/review/main.tsx", "web/review/app.css"],
  entryNames: "app",
  chunkNames: "chunk-[hash]",
  outdir: page,
  bundle: true,
  splitting: true,
  format: "esm",
  target: "es2022",
  minify: true,
  legalComments: "none", // see licenses.txt
  jsx: "automatic",
  jsxImportSource: "preact",
  tsconfig: "web/review/tsconfig.json",
  logLevel: "warning",
});
for (const name of ["index.html", "icon.svg"])
  copyFileSync(`${root}web/review/${name}`, `${page}/${name}`);

writeFileSync(`${page}/licenses.txt`, licencesOf(root, Object.keys(metafile.inputs)));
