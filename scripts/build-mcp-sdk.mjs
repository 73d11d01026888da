// Bundles the MCP SDK into dist/mcp/sdk-copy.js, so that `npx @openagentic/native-runner mcp` needs nothing else:
//
//   node scripts/build-mcp-sdk.mjs
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

import { licencesOf } from "./lib/licences.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const contents = `export * from "@modelcontextprotocol/server";
export { serveStdio } from "@modelcontextprotocol/server/stdio";
`;
const { metafile } = await build({
  metafile: true,
  absWorkingDir: root,
  stdin: { contents, resolveDir: root },
  outfile: `${root}dist/mcp/sdk-copy.js`,
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
});
writeFileSync(`${root}dist/mcp/sdk-licenses.txt`, licencesOf(root, Object.keys(metafile.inputs)));
