// A host whose mounts are its own, and are shared from some moment on, of which the kernel tells nobody:
// BWRAP WORKSPACE DIRECTORY. Says of runs before and after how they end and how often BWRAP was called,
// and what one saw of a mount that came while it ran.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { BubblewrapNativeRunner, say } from "../common.mjs";

const [bwrapPath, shadowDir, directory] = process.argv.slice(2);
const calls = join(shadowDir, "calls");
const roBinds = ["/usr", "/bin", "/lib", "/lib64", "/etc", directory];
const runner = new BubblewrapNativeRunner({
  shadowDir,
  bwrapPath,
  prewarm: 0,
  clone: "never",
  roBinds,
});

function mount(...args) {
  const { status, stderr } = spawnSync("mount", args, { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
}

async function see(when, script) {
  writeFileSync(calls, "");
  const { outcome, stdoutText } = await runner.exec({ argv: ["sh", "-c", script] });
  const end = outcome.kind === "exited" ? stdoutText.trim() : outcome.reason;
  say({ when, end, calls: readFileSync(calls, "utf8").length / 2 });
}

await see("own", "echo in");
await see("own again", "echo in");
mount("--make-rshared", "/");
await see("shared", "echo in");
await see("shared again", "echo in");
const look = "touch up; while [ ! -e go ]; do sleep 0.01; done; ls $0/late | wc -l";
const running = see("a mount meanwhile", look.replace("$0", directory));
while (!existsSync(join(shadowDir, "up"))) await delay(5);
mount("-t", "tmpfs", "late", join(directory, "late"));
writeFileSync(join(directory, "late", "file"), "");
writeFileSync(join(shadowDir, "go"), "");
await running;
await see("a mount before", `ls ${directory}/late | wc -l`);
process.exit(0);
