// The arrows of docs/architecture.md on the native side: who may include whom. (CMake's targets keep
// the rooms' code apart, this keeps their headers apart; Biome has the rules for TypeScript.)
import { readFileSync } from "node:fs";
import path from "node:path";
import { nativeFiles } from "../lib/native-sources.mjs";
import { root } from "../lib/project.mjs";
import { fail } from "../lib/run.mjs";

const rooms = {
  policy: [
    "<uv.h>",
    "<napi.h>",
    "<node_api.h>",
    "<linux/",
    "<sys/",
    '"supervise/',
    '"launcher/',
    '"addon/',
  ],
  supervise: ["<napi.h>", "<node_api.h>", '"launcher/', '"addon/'],
  launcher: ["<uv.h>", "<napi.h>", "<node_api.h>", '"supervise/', '"addon/'],
  addon: ['"launcher/'],
};

let failures = 0;
for (const file of nativeFiles()) {
  const relative = path.relative(root, file);
  const forbidden = rooms[relative.split(path.sep)[1]] ?? [];
  const lines = readFileSync(file, "utf8").split("\n");
  for (const [index, line] of lines.entries()) {
    const included = line.match(/^\s*#\s*include\s+(\S+)/)?.[1];
    if (included === undefined) continue;
    if (!forbidden.some((prefix) => included.startsWith(prefix))) continue;
    failures += 1;
    console.error(`${relative}:${index + 1}: this room must not include ${included}`);
  }
}
if (failures > 0) fail(`includes: ${failures} against the arrows`);
