// A host on which a filesystem is mounted while a sandbox is made: BWRAP WORKSPACE DIRECTORY. BWRAP
// mounts on DIRECTORY each time as often as WORKSPACE/mounts says. Says how a run, a live process, a
// session and a command of Bwrap end, and how often BWRAP was called for each.
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Bwrap } from "../../../../dist/index.js";
import { BubblewrapNativeRunner, say } from "../common.mjs";

const [bwrapPath, shadowDir, directory] = process.argv.slice(2);
const argv = ["sh", "-c", `echo in; cat /proc/self/mountinfo | grep -c ' ${directory}/late ' >&2`];
const calls = join(shadowDir, "calls");
const mounts = join(shadowDir, "mounts");

const roBinds = ["/usr", "/bin", "/lib", "/lib64", "/etc", directory];
const runner = new BubblewrapNativeRunner({
  shadowDir,
  bwrapPath,
  prewarm: 0,
  clone: "never",
  roBinds,
});
const project = new Bwrap(shadowDir, [], false, { bwrapPath });
await project.exec("true"); // its proof that a sandbox can be had

const text = (bytes) => Buffer.from(bytes).toString().trim();
const reported = ({ outcome, stdout, stderr }) =>
  outcome.kind === "exited" ? `${text(stdout)} ${text(stderr)}` : outcome.reason;

const kKinds = {
  run: async () => reported(await runner.exec({ argv })),
  live: async () => {
    const live = await runner.spawn({ argv });
    live.stdin.end();
    const [out, err] = [await live.stdout.toArray(), await live.stderr.toArray()];
    const { outcome } = await live.result;
    return reported({ outcome, stdout: Buffer.concat(out), stderr: Buffer.concat(err) });
  },
  session: async () => {
    const session = await runner.openSession();
    const seen = reported(await session.exec({ argv }));
    await session.close();
    return seen;
  },
  project: async () => text(await project.exec("echo in")),
};

for (const times of [0, 1, 3, 100]) {
  for (const [kind, use] of Object.entries(kKinds)) {
    writeFileSync(mounts, String(times));
    writeFileSync(calls, "");
    const end = await use().catch(({ message }) => message);
    say({ kind, times, end, calls: readFileSync(calls, "utf8").length / 2 });
  }
}

// A sandbox that was made ahead is taken in mid-set-up, and meets a mount then: the command that goes to
// another one keeps its deadline.
writeFileSync(calls, "");
const wait = join(shadowDir, "wait");
writeFileSync(wait, "");
const ahead = new BubblewrapNativeRunner({
  shadowDir,
  bwrapPath,
  prewarm: 1,
  clone: "never",
  roBinds,
});
const warm = ahead.warm();
while (readFileSync(calls, "utf8") === "") await delay(10);
const running = ahead.exec({ argv: ["sleep", "1000"], limits: { timeoutMs: 2000 } });
while (ahead.pool().taken === 0) await delay(10);
writeFileSync(mounts, "1");
rmSync(wait);
const late = delay(20_000, { outcome: { kind: "no end" }, audits: [{}] });
const { outcome, audits } = await Promise.race([running, late]);
const made = readFileSync(calls, "utf8").length / 2;
say({ end: outcome.kind, prewarmed: audits[0].prewarmed, calls: made });
await warm;
process.exit(0);
