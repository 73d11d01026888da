// A host, in a mount namespace of its own, on which a secret of root's is replaced, made or removed while
// a template stands: HOW WORKSPACE. Says what commands before and after read of it, and how they started.
import { execFileSync } from "node:child_process";
import { existsSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { BubblewrapNativeRunner, say } from "../common.mjs";

const [how, workspace] = process.argv.slice(2);
const etc = "/mnt";
execFileSync("mount", ["-t", "tmpfs", "none", etc]);
execFileSync("cp", ["-a", "/etc/.", etc]);
if (how === "made")
  for (const name of ["shadow", "gshadow"]) rmSync(`${etc}/${name}`, { force: true });
execFileSync("mount", ["--bind", etc, "/etc"]);
if (how !== "made" && !existsSync("/etc/shadow")) throw new Error("there is no /etc/shadow");

const runner = new BubblewrapNativeRunner({ shadowDir: workspace, prewarm: 0 });
const script = `for f in shadow gshadow shadow-; do head -c 3 /etc/$f 2> /dev/null; done
  head -c 1 /etc/passwd > /dev/null && echo control`;

async function look() {
  const { stdoutText, outcome, audits } = await runner.exec({ argv: ["sh", "-c", script] });
  return { out: stdoutText.trim(), kind: outcome.kind, start: audits[0].start };
}

async function untilCloned() {
  for (let left = 500; left > 0; left -= 1) {
    const { audits } = await runner.exec({ argv: ["true"] });
    if (audits[0].start === "cloned") return;
    await delay(20);
  }
  throw new Error("no run was cloned");
}

await untilCloned();
const ends = [await look()];
if (how === "removed") {
  rmSync("/etc/shadow");
} else {
  writeFileSync("/etc/shadow.new", "root:secret\n", { mode: 0o600 });
  renameSync("/etc/shadow.new", "/etc/shadow");
}
ends.push(await look(), await look());
if (how === "removed") {
  writeFileSync("/etc/shadow", "root:secret\n", { mode: 0o600 });
  ends.push(await look());
}
await untilCloned();
ends.push(await look());
await runner.close();
say(ends);
