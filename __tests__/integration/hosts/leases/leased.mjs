// One run with a lease, for who stops this process meanwhile: KIND DIRECTORY LEASE_MS MARK.
//   DIRECTORY has `work`, the workspace, with the script command.sh, and `state`.
//   LEASE_MS: its term, in which it is renewed ten times; 0: the run has none.
// Says "up" when the command has begun; then how it ended, and where its sandbox came from.
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { FirejailNativeRunner, LandlockNativeRunner, Lease } from "../../../../dist/index.js";
import { BubblewrapNativeRunner, LocalNativeRunner, say } from "../common.mjs";

const [kind, directory, ms, mark] = process.argv.slice(2);
const shadowDir = join(directory, "work");
const kArgv = ["sh", "command.sh"];
const kReadable = ["/usr", "/bin", "/lib", "/lib64", "/etc", "/proc", "/tmp"];
const landlock = () =>
  new LandlockNativeRunner({ shadowDir, fsReadDirs: kReadable, fsWriteDirs: [] });
const strict = (options) =>
  new BubblewrapNativeRunner({ shadowDir, prewarm: 0, clone: "never", ...options });

const exec = (runner) => async (input) => runner.exec(input);
const spawn = (options) => async (input) => {
  const live = await strict().spawn({ ...input, ...options, limits: {} });
  live.stdout.resume();
  return live.result;
};

async function cloning() {
  const runner = strict({ clone: "auto" });
  for (let left = 500; left > 0; left -= 1) {
    const { audits } = await runner.exec({ argv: ["true"] });
    if (audits[0].start === "cloned") return runner;
    await delay(20);
  }
  throw new Error("no run was cloned");
}

async function warm() {
  const runner = strict({ prewarm: 2 });
  await runner.warm();
  return runner;
}

const kKinds = {
  cold: async () => exec(strict()),
  compat: async () => exec(strict({ isolation: "compat" })),
  cloned: async () => exec(await cloning()),
  prewarmed: async () => exec(await warm()),
  session: async () => exec(await strict().openSession()),
  "landlock session": async () => exec(await landlock().openSession()),
  transaction: async () =>
    exec(await strict().openTransaction({ directory: join(directory, "state") })),
  spawn: async () => spawn({}),
  terminal: async () => spawn({ pty: { cols: 80, rows: 24 } }),
  explained: async () => (input) => strict().exec({ ...input, explain: true }),
  landlock: async () => exec(landlock()),
  firejail: async () => exec(new FirejailNativeRunner({ shadowDir })),
  local: async () => exec(new LocalNativeRunner({ shadowDir })),
};

const run = await kKinds[kind]();
const lease = ms === "0" ? undefined : new Lease({ ms: Number(ms) });
if (lease !== undefined) setInterval(() => lease.renew(), Number(ms) / 10);
const running = run({
  argv: kArgv,
  env: { NATIVE_RUNNER_TEST_MARK: mark },
  limits: { timeoutMs: 120_000 },
  ...(lease && { lease }),
});
say("up");
const { exitCode, outcome, audits } = await running;
say({ exitCode, outcome, kill: audits[0].kill, start: audits[0].start, renewed: lease?.renew() });
process.exit(0);
