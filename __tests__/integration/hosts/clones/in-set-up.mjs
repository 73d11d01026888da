// A host on which filesystems are mounted while templates and sandboxes are made: BWRAP WORKSPACE DIRECTORY.
// BWRAP mounts on DIRECTORY/late as often as WORKSPACE/mounts says. Says of each run how it started, and how
// many of those mounts it saw, of how many that the host had before and after it.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { BubblewrapNativeRunner, say } from "../common.mjs";

const [bwrapPath, shadowDir, directory] = process.argv.slice(2);
const roBinds = ["/usr", "/bin", "/lib", "/lib64", "/etc", directory];
const runner = new BubblewrapNativeRunner({ shadowDir, bwrapPath, prewarm: 0, roBinds });
const argv = ["sh", "-c", `grep -c ' ${directory}/late ' /proc/self/mountinfo; true`];
const mounted = () =>
  readFileSync("/proc/self/mountinfo", "utf8").split(` ${directory}/late `).length - 1;

mkdirSync(join(directory, "other"));
for (let i = 0; i < 90; i += 1) {
  if (i % 15 === 14) {
    execFileSync("mount", ["-t", "tmpfs", "other", join(directory, "other")]); // no template is used now
    writeFileSync(join(shadowDir, "mounts"), String(i % 2 === 0 ? 1 : 3)); // also while the next is made
  }
  const before = mounted();
  const { outcome, stdoutText, audits } = await runner.exec({ argv });
  const seen = outcome.kind === "exited" ? Number(stdoutText) : (outcome.reason ?? outcome.kind);
  say({ start: audits[0].start, seen, before, after: mounted() });
  await delay(10);
}
await runner.close();
