// node scripts/demo-picture.mjs: runs the demo and draws docs/pictures/demo.svg of its part about
// hostile commands, as a terminal shows it. Nothing of the machine gets into the picture.
import { mkdirSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { pictureOf } from "./demo/picture.mjs";
import { inRoot, root } from "./lib/project.mjs";
import { fail, outputOf } from "./lib/run.mjs";

const kFirst = "Hostile commands, with and without the sandbox";
const kLast = "processes left over: none";

const env = { ...process.env, FORCE_COLOR: "1" };
delete env.NO_COLOR;
const output = outputOf(process.execPath, ["scripts/demo.mjs"], { cwd: root, env });
if (output === undefined) fail("the demo failed: npm run demo says why");

const lines = output.split("\n");
const first = lines.findIndex((line) => line.includes(kFirst));
const last = lines.findIndex((line) => line.includes(kLast));
if (first < 0 || last < first) fail(`the demo printed no lines from "${kFirst}" to "${kLast}"`);

const shown = ["$ npm run demo", "…", "", ...lines.slice(first, last + 1)].join("\n");
const own = [root, os.homedir(), os.tmpdir(), os.hostname(), os.userInfo().username];
const told = own.filter((name) => name.length > 3 && shown.includes(name));
if (told.length > 0) fail(`the picture would tell of this machine: ${told.join(", ")}`);

const picture = inRoot("docs", "pictures", "demo.svg");
mkdirSync(path.dirname(picture), { recursive: true });
writeFileSync(picture, pictureOf(shown, `npm run demo: ${kFirst.toLowerCase()}`));
console.log(path.relative(root, picture));
