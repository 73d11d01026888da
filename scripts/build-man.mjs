// Writes the man page to dist/native-runner.1, from the command line that dist has:
//
//   node scripts/build-man.mjs
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const { createProgram, kNotes } = await import(`${root}dist/cli/program.js`);
const { manPage } = await import(`${root}dist/cli/man-page.js`);
const { version } = JSON.parse(readFileSync(`${root}package.json`, "utf8"));

writeFileSync(`${root}dist/native-runner.1`, manPage(createProgram(version, {}), version, kNotes));
