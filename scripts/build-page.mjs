// Bundles the review page (web/review) into dist/review/page, where lib/review serves it from:
//
//   node scripts/build-page.mjs
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

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

/** Of each package that is bundled: its name, version and licence, which have to go with it. */
function licences(inputs) {
  const packages = new Set(
    inputs.flatMap((file) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1] ?? []),
  );
  return [...packages].sort().map((place) => {
    const { name, version, license } = JSON.parse(
      readFileSync(`${root}${place}/package.json`, "utf8"),
    );
    const file = readdirSync(`${root}${place}`).find((each) => /^licen[cs]e/i.test(each));
    const text =
      file === undefined ? license : readFileSync(`${root}${place}/${file}`, "utf8").trim();
    return `${name} ${version}\n\n${text}\n`;
  });
}
writeFileSync(`${page}/licenses.txt`, licences(Object.keys(metafile.inputs)).join("\n----\n\n"));
