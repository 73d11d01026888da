// A host on which a filesystem is mounted while a sandbox is made: BWRAP WORKSPACE DIRECTORY. BWRAP
// mounts on DIRECTORY each time as often as WORKSPACE/mounts says. Says how a run, a live process, a
// session and a command of Bwrap end, and how often BWRAP was called for each.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Bwrap } from "../../../dist/index.js";
import { BubblewrapNativeRunner, say } from "./common.mjs";

const [bwrapPath, shadowDir, directory] = process.argv.slice(2);
const argv = ["sh", "-c", `echo in; cat /proc/self/mountinfo | grep -c ' ${directory}/late ' >&2`];
const calls = join(shadowDir, "calls");
const mounts = join(shadowDir, "mounts");

const roBinds = ["/usr", "/bin", "/lib", "/lib64", "/etc", directory];
const runner = new BubblewrapNativeRunner({ shadowDir, bwrapPath, prewarm: 0, roBinds });
const project = new Bwrap(shadowDir, [], false, { bwrapPath });
await project.exec("true"); // its proof that a sandbox can be had

const text = (bytes) => Buffer.from(bytes).toString().trim();
const told = ({ outcome, stdout, stderr }) =>
  outcome.kind === "exited" ? `${text(stdout)} ${text(stderr)}` : outcome.reason;

const kKinds = {
  run: async () => told(await runner.exec({ argv })),
  live: async () => {
    const live = await runner.spawn({ argv });
    live.stdin.end();
    const [out, err] = [await live.stdout.toArray(), await live.stderr.toArray()];
    const { outcome } = await live.result;
    return told({ outcome, stdout: Buffer.concat(out), stderr: Buffer.concat(err) });
  },
  session: async () => {
    const session = await runner.openSession();
    const seen = told(await session.exec({ argv }));
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
process.exit(0);
