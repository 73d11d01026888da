// Exits while a project's command runs: node project-exit.mjs PROJECT; prints what stood there then.
import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { Bwrap } from "../../../dist/index.js";

const [project] = process.argv.slice(2);
void new Bwrap(project).exec("touch up; sleep 60");
setInterval(() => {
  if (!existsSync(path.join(project, "up"))) return;
  process.stdout.write(`${JSON.stringify(readdirSync(project))}\n`);
  process.exit(3);
}, 10);
