// A host with a template that comes to an end, or lets go of it: HOW WORKSPACE.
//   exit, idle: with the template standing; wait: says "ready", and is to be killed; running: the same,
//   with runs under way in clones.
//   close, dispose: with runs under way; collect: the runner is dropped, and collected.
//   shrink: nothing is run for a while; says what the template costs until then.
//   mounted: a mount appears on the host (in a mount namespace of the test's).
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { BubblewrapNativeRunner, leftovers, say } from "../common.mjs";
import { costUntilGone, waitUntilGone } from "../standing-sandboxes.mjs";

const [how, workspace] = process.argv.slice(2);
const make = (options) =>
  new BubblewrapNativeRunner({ shadowDir: workspace, prewarm: 0, ...options });
const sh = (script) => ({ argv: ["sh", "-c", script] });
const reported = ({ stdoutText, audits: [{ start, coldReason }] }) => ({
  out: stdoutText.trim(),
  start,
  coldReason,
});

async function untilCloned(runner) {
  let why;
  for (let left = 500; left > 0; left -= 1) {
    const { start, coldReason } = reported(await runner.exec({ argv: ["true"] }));
    if (start === "cloned") return;
    why = coldReason;
    await delay(20);
  }
  throw new Error(`no run was cloned: ${why}`);
}

async function cloning(options) {
  const runner = make(options);
  await untilCloned(runner);
  return runner;
}

/** Six that would go on for long, all of them up. */
async function underWay(runner) {
  let up = 0;
  const runs = Array.from({ length: 6 }, () =>
    runner.exec({
      ...sh("(setsid sleep 1000 &) & echo up; sleep 1000"),
      onStdout: () => {
        up += 1;
      },
    }),
  );
  while (up < runs.length) await delay(5);
  return runs;
}

const kEnds = {
  exit: async () => {
    await cloning();
    say(leftovers().length > 0);
    process.exit(7);
  },
  idle: async () => {
    await cloning();
    say(leftovers().length > 0);
  },
  wait: async () => {
    await cloning();
    say("ready");
    await delay(1_000_000);
  },
  running: async () => {
    const runs = await underWay(await cloning());
    say("ready");
    await Promise.all(runs);
  },
  close: async () => {
    const runner = await cloning();
    const runs = await underWay(runner);
    await Promise.all([runner.close(), runner.close()]);
    const left = leftovers();
    const ends = (await Promise.all(runs)).map(({ outcome, audits: [{ start }] }) => [
      outcome.kind,
      start,
    ]);
    const late = await runner.exec({ argv: ["true"] }).catch(({ code }) => code);
    say({ left, ends, late });
  },
  dispose: async () => {
    const runner = await cloning();
    await runner[Symbol.asyncDispose]();
    say(leftovers());
  },
  collect: async () => {
    await (async () => {
      await cloning();
    })();
    say(await waitUntilGone());
  },
  shrink: async () => {
    const runner = await cloning({ prewarmIdleMs: 1500 });
    const cost = await costUntilGone();
    const next = reported(await runner.exec({ argv: ["true"] }));
    await untilCloned(runner);
    await runner.close();
    say({
      ...cost,
      next,
      closed: leftovers(),
    });
  },
  mounted: async () => {
    const bind = `${workspace}/bind`;
    mkdirSync(`${bind}/sub`, { recursive: true });
    const roBinds = ["/usr", "/bin", "/lib", "/lib64", bind];
    const runner = await cloning({ roBinds });
    const look = sh(`ls ${bind}/sub; echo x 2> /dev/null > ${bind}/sub/file && echo written; true`);
    const before = reported(await runner.exec(look));
    execFileSync("mount", ["-t", "tmpfs", "none", `${bind}/sub`]);
    writeFileSync(`${bind}/sub/new`, "");
    const after = reported(await runner.exec(look));
    await untilCloned(runner);
    const again = reported(await runner.exec(look));
    await runner.close();
    say({ before, after, again });
  },
};

await kEnds[how]();
