// Bundles what this package uses of others and does not depend on, so that `npx @openagentic/native-runner` needs
// nothing else: the MCP SDK into dist/mcp/sdk-copy.js, the terminator's thread with what makes its certificates into
// dist/secrets/terminator-thread.js, the thread that merges texts into dist/merge/thread.js, and the one that unpacks
// images, with what reads headers of archives, into dist/image/thread.js.
//
//   node scripts/build-bundles.mjs
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

import { licencesOf } from "./lib/licences.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const contents = `export * from "@modelcontextprotocol/server";
export { serveStdio } from "@modelcontextprotocol/server/stdio";
`;
const kOptions = {
  metafile: true,
  absWorkingDir: root,
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node20",
  minify: true,
  legalComments: "none", // see sdk-licenses.txt
  logLevel: "warning",
  banner: {
    js: 'import{createRequire}from"node:module";const require=createRequire(import.meta.url);',
  },
};

/** Writes dist/NAME.js, and the licences of what is in it. */
async function bundle(name, licences, input) {
  const { metafile } = await build({ ...kOptions, ...input, outfile: `${root}dist/${name}.js` });
  writeFileSync(`${root}dist/${licences}.txt`, licencesOf(root, Object.keys(metafile.inputs)));
}

await bundle("mcp/sdk-copy", "mcp/sdk-licenses", { stdin: { contents, resolveDir: root } });
await bundle("secrets/terminator-thread", "secrets/terminator-thread-licenses", {
  entryPoints: [`${root}lib/secrets/thread/main.ts`],
});
await bundle("image/thread", "image/thread-licenses", {
  entryPoints: [`${root}lib/image/thread/main.ts`],
});
await bundle("merge/thread", "merge/thread-licenses", {
  entryPoints: [`${root}lib/merge/thread/main.ts`],
});
