// A host with standing sandboxes that comes to an end, or lets go of them: HOW WORKSPACE.
//   exit, idle: with all of them standing; wait: says "ready", and is to be killed.
//   set-up: exits while they are being made.
//   close: with runs under way; dispose: by Symbol.asyncDispose.
//   collect: the runner is dropped, and collected by the garbage collector.
//   shrink: nothing is run for a while; says what they cost until then.
//   mounted: a mount appears on the host (in a mount namespace of the test's).
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { BubblewrapNativeRunner, leftovers, makeRunner, say } from "./common.mjs";
import { costUntilGone, waitUntilGone } from "./standing-sandboxes.mjs";

const [how, workspace] = process.argv.slice(2);
const text = (bytes) => Buffer.from(bytes).toString();

const kEnds = {
  exit: async (runner) => {
    say(await runner.warm());
    process.exit(7);
  },
  idle: async (runner) => say(await runner.warm()),
  wait: async (runner) => {
    await runner.warm();
    say("ready");
    await delay(1_000_000);
  },
  "set-up": async (runner) => {
    void runner.warm();
    await delay(15);
    process.exit(7);
  },
  close: async (runner) => {
    await runner.warm();
    const runs = Array.from({ length: 6 }, () =>
      runner.exec({ argv: ["sh", "-c", "(setsid sleep 1000 &) & sleep 1000"] }),
    );
    await delay(20);
    await Promise.all([runner.close(), runner.close()]);
    const left = leftovers();
    const kinds = (await Promise.all(runs)).map(({ outcome }) => outcome.kind);
    const late = await runner.exec({ argv: ["true"] }).catch(({ code }) => code);
    const filled = await runner.warm().catch(({ code }) => code);
    say({ left, kinds, late, filled, standing: runner.pool().standing });
  },
  dispose: async (runner) => {
    await runner.warm();
    await runner[Symbol.asyncDispose]();
    say(leftovers());
  },
  collect: async () => {
    await (async () => {
      const runner = makeRunner("warm", workspace);
      await runner.warm();
      await runner.exec({ argv: ["true"] });
    })();
    say(await waitUntilGone());
  },
  shrink: async () => {
    const runner = makeRunner("warm", workspace, { prewarmIdleMs: 1500 });
    await runner.warm();
    const cost = await costUntilGone();
    say(cost);
  },
  mounted: async () => {
    const bind = `${workspace}/bind`;
    mkdirSync(`${bind}/sub`, { recursive: true });
    const roBinds = ["/usr", "/bin", "/lib", "/lib64", bind];
    const runner = new BubblewrapNativeRunner({ shadowDir: workspace, prewarm: 1, roBinds });
    await runner.warm();
    execFileSync("mount", ["-t", "tmpfs", "none", `${bind}/sub`]);
    const argv = ["sh", "-c", `echo x 2> /dev/null > ${bind}/sub/file && echo written`];
    const { stdout } = await runner.exec({ argv });
    const { taken, discarded } = runner.pool();
    await runner.close();
    say({ out: text(stdout), taken, discarded });
  },
};

await kEnds[how](makeRunner("warm", workspace));
